#include "hub/pull.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>

#include "base/error.hpp"
#include "hub/cached_repositories.hpp"
#include "hub/fake_hub.hpp"
#include "hub/repository_cache.hpp"
#include "io/file.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

std::string noise(size_t bytes, unsigned seed) {
  std::mt19937 draw(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(draw());
  return text;
}

// A hub with a small pipeline, and an empty cache.
class Pull : public ::testing::Test {
 protected:
  Pull() {
    std::string name = (fs::temp_directory_path() / "omnirt-hub-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no folder");
    settings.cache = name;
    repository = settings.cache / "models--someone--dream";
    settings.endpoint = hub.endpoint();
    setenv("NO_PROXY", "127.0.0.1", 1);
    hub.files["model_index.json"] = {
        R"({"_class_name": "P", "unet": ["diffusers", "UNet2DConditionModel"],
            "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"],
            "tokenizer": ["transformers", "CLIPTokenizer"], "none": [null, null]})"};
    hub.files["unet/config.json"] = {"{}"};
    hub.files["unet/diffusion_pytorch_model.safetensors"] = {noise(300'000, 1), true};
    hub.files["unet/diffusion_pytorch_model.fp16.safetensors"] = {noise(150'000, 2), true};
    hub.files["unet/diffusion_pytorch_model.bin"] = {noise(100, 3), true};
    hub.files["tokenizer/vocab.json"] = {"{}"};
    hub.files["safety_checker/config.json"] = {"{}"};
    hub.files["safety_checker/model.safetensors"] = {noise(100, 4), true};
    hub.files["README.md"] = {"# dream"};
    request.id = "someone/dream";
    hooks.wait = [this](std::chrono::milliseconds time) { waits.push_back(time.count()); };
  }
  ~Pull() override { fs::remove_all(settings.cache); }

  hub::Pulled pull() { return hub::pull(settings, request, hooks); }
  Finding refused() {
    try {
      pull();
    } catch (const InvalidRequest& error) {
      return error.findings().front();
    }
    ADD_FAILURE() << "not refused";
    return {};
  }
  std::vector<std::string> in_snapshot() const {
    std::vector<std::string> names;
    fs::path snapshot = repository / "snapshots" / FakeHub::commit;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(snapshot, error))
      if (!entry.is_directory())
        names.push_back(entry.path().lexically_relative(snapshot).string());
    return names;
  }
  void expect_equal_to_hub() const {
    fs::path snapshot = repository / "snapshots" / FakeHub::commit;
    for (const std::string& name : in_snapshot())
      EXPECT_EQ(io::read_file(snapshot / name, 1 << 20), hub.files.at(name).bytes) << name;
  }
  // Faults on the file of weights alone.
  void on_weights(std::function<void(const FakeHub::Asked&, FakeHub::Reply&)> fault) {
    hub.fault = [fault](const FakeHub::Asked& asked, FakeHub::Reply& reply) {
      if (asked.path.ends_with("diffusion_pytorch_model.safetensors")) fault(asked, reply);
    };
  }

  FakeHub hub;
  hub::Settings settings;
  hub::PullRequest request;
  hub::PullHooks hooks;
  std::vector<int64_t> waits;
  fs::path repository;
};

TEST_F(Pull, BringsTheComponentsThatAModularPipelinesRepositoryHolds) {
  hub.files.erase("model_index.json");
  hub.files["modular_model_index.json"] = {
      R"({"_class_name": "M", "unet": ["diffusers", "UNet2DConditionModel", {"subfolder": "unet"}],
          "tokenizer": [null, null, {"type_hint": ["transformers", "AutoProcessor"],
                                     "subfolder": "tokenizer"}],
          "vae": [null, null, {"type_hint": ["diffusers", "V"], "subfolder": "elsewhere"}]})"};
  pull();
  EXPECT_THAT(in_snapshot(), UnorderedElementsAre("modular_model_index.json", "unet/config.json",
                                                  "unet/diffusion_pytorch_model.safetensors",
                                                  "tokenizer/vocab.json"));
}

TEST_F(Pull, BringsWhatARunNeedsAndNothingElse) {
  hub::Pulled pulled = pull();
  EXPECT_THAT(in_snapshot(),
              UnorderedElementsAre("model_index.json", "unet/config.json",
                                   "unet/diffusion_pytorch_model.safetensors",
                                   "tokenizer/vocab.json", "safety_checker/config.json"));
  expect_equal_to_hub();
  EXPECT_EQ(pulled.snapshot, repository / "snapshots" / FakeHub::commit);
  EXPECT_EQ(io::read_file(repository / "refs" / "main", 100), FakeHub::commit);
  EXPECT_TRUE(fs::is_symlink(pulled.snapshot / "unet/config.json"));
  size_t sent = hub.bytes_sent();
  EXPECT_EQ(pull().bytes_to_get, 0U);
  EXPECT_LT(hub.bytes_sent() - sent, 5000U) << "the second time only the listing";
}

TEST_F(Pull, TakesAVariantPatternsOrAll) {
  request.choice.variant = "fp16";
  pull();
  EXPECT_THAT(in_snapshot(), ::testing::Contains("unet/diffusion_pytorch_model.fp16.safetensors"));
  EXPECT_THAT(in_snapshot(),
              ::testing::Not(::testing::Contains("unet/diffusion_pytorch_model.safetensors")));
  request.choice = {{"*.md"}, "", false};
  EXPECT_EQ(pull().files.size(), 1U);
  request.choice = {{"nothing*"}, "", false};
  EXPECT_THAT(refused().message, HasSubstr("no such file"));
  request.choice = {{}, "", true};
  EXPECT_EQ(pull().files.size(), hub.files.size());
  expect_equal_to_hub();
}

TEST_F(Pull, TakesShardsByTheirIndex) {
  hub.files.erase("unet/diffusion_pytorch_model.safetensors");
  hub.files.erase("unet/diffusion_pytorch_model.fp16.safetensors");
  hub.files["unet/diffusion_pytorch_model.safetensors.index.json"] = {
      R"({"weight_map": {"a": "diffusion_pytorch_model-00001-of-00002.safetensors",
                         "b": "diffusion_pytorch_model-00002-of-00002.safetensors"}})"};
  for (const char* place : {"1", "2"})
    hub.files[std::string("unet/diffusion_pytorch_model-0000") + place + "-of-00002.safetensors"] =
        {noise(1000, 7), true};
  EXPECT_EQ(pull().files.size(), 7U);
  expect_equal_to_hub();
  hub.files.erase("unet/diffusion_pytorch_model-00002-of-00002.safetensors");
  EXPECT_THAT(refused().message, HasSubstr("does not have"));
}

TEST_F(Pull, GoesOnAfterAHundredCuts) {
  std::mt19937 draw(5);
  int cuts = 0;
  on_weights([&](const FakeHub::Asked&, FakeHub::Reply& reply) {
    if (cuts == 100) return;
    ++cuts;
    reply.cut_after = 1 + draw() % 3000;
  });
  pull();
  EXPECT_EQ(cuts, 100);
  expect_equal_to_hub();
  EXPECT_LT(hub.bytes_sent(), 310'000U) << "nothing is sent twice";
}

TEST_F(Pull, GivesUpAfterFiveTriesWithoutAByteAndGoesOnNextTime) {
  on_weights([&](const FakeHub::Asked& asked, FakeHub::Reply& reply) {
    reply.cut_after = asked.header("range").empty() ? 1000 : 0;
  });
  EXPECT_THROW(pull(), RunFailed);
  EXPECT_THAT(waits, ElementsAre(500, 1000, 2000, 4000));
  EXPECT_FALSE(fs::exists(repository / "refs" / "main"));
  EXPECT_TRUE(hub::find_snapshot("someone/dream").empty());
  hub.fault = [](const FakeHub::Asked&, FakeHub::Reply&) {};
  EXPECT_EQ(pull().bytes_to_get, 299'000U);
  expect_equal_to_hub();
}

TEST_F(Pull, WaitsAsLongAsTheHubAsks) {
  int busy = 2;
  hub.fault = [&](const FakeHub::Asked& asked, FakeHub::Reply& reply) {
    if (asked.path.starts_with("/api/") && busy-- > 0) reply = {429, {{"Retry-After", "7"}}, ""};
  };
  pull();
  EXPECT_THAT(waits, ElementsAre(7000, 7000));
}

TEST_F(Pull, TakesTheWholeFileWhereAPartIsNotServed) {
  int tries = 0;
  on_weights([&](const FakeHub::Asked&, FakeHub::Reply& reply) {
    if (++tries == 1)
      reply.cut_after = 5000;
    else
      reply = {200, {}, hub.files.at("unet/diffusion_pytorch_model.safetensors").bytes};
  });
  pull();
  EXPECT_EQ(tries, 2);
  expect_equal_to_hub();
}

TEST_F(Pull, ChecksWhatArrives) {
  on_weights([&](const FakeHub::Asked&, FakeHub::Reply& reply) { reply.body[77] ^= 1; });
  EXPECT_THAT(refused().message, HasSubstr("not what the hub lists"));
  on_weights([&](const FakeHub::Asked&, FakeHub::Reply& reply) { reply.body += "more"; });
  EXPECT_THAT(refused().message, HasSubstr("more than the 300000 bytes"));
  EXPECT_FALSE(fs::exists(repository / "refs" / "main"));
  // A beginning of other bytes is found out at the end, and the file is fetched anew.
  hub.fault = [](const FakeHub::Asked&, FakeHub::Reply&) {};
  const auto& weights = hub.files.at("unet/diffusion_pytorch_model.safetensors");
  io::write_file(repository / "blobs" / (FakeHub::digest(weights) + ".incomplete"),
                 std::string(1000, 'x'));
  pull();
  expect_equal_to_hub();
}

TEST_F(Pull, FollowsARedirectionAndKeepsTheTokenWithTheHub) {
  settings.token = "hf_secret";
  FakeHub store;
  store.files = hub.files;
  on_weights([&](const FakeHub::Asked& asked, FakeHub::Reply& reply) {
    reply = {302, {{"Location", store.endpoint() + asked.path}}, "elsewhere"};
  });
  pull();
  expect_equal_to_hub();
  for (const auto& asked : hub.asked())
    EXPECT_EQ(asked.header("authorization"), "Bearer hf_secret");
  ASSERT_EQ(store.asked().size(), 1U);
  EXPECT_EQ(store.asked()[0].header("authorization"), "");
}

TEST_F(Pull, SaysWhatARefusalMeans) {
  request.id = "someone/else";
  EXPECT_THAT(refused().message, HasSubstr("no such repository, or it is private"));
  request.id = "someone/dream";
  request.revision = "v9";
  EXPECT_THAT(refused().message, HasSubstr("no such branch"));
  request.revision = "main";
  hub.fault = [](const FakeHub::Asked&, FakeHub::Reply& reply) {
    reply = {403, {{"X-Error-Code", "GatedRepo"}}, ""};
  };
  EXPECT_THAT(refused().way_out, HasSubstr("agree at " + hub.endpoint() + "/someone/dream"));
  hub.fault = [](const FakeHub::Asked&, FakeHub::Reply& reply) { reply = {404, {}, ""}; };
  EXPECT_THAT(refused().message, HasSubstr("no such repository"));
  settings.offline = true;
  EXPECT_EQ(refused().field, "HF_HUB_OFFLINE");
}

// Another user than the one that owns the cache, who may only read it.
class AsReader {
 public:
  explicit AsReader(const fs::path& cache) : cache_(cache) {
    allow(fs::perms::owner_write, fs::perm_options::remove);
    constexpr uid_t nobody = 65534;
    root_ = geteuid() == 0 && seteuid(nobody) == 0;
  }
  ~AsReader() {
    if (root_) EXPECT_EQ(seteuid(0), 0);
    allow(fs::perms::owner_write, fs::perm_options::add);
  }

 private:
  void allow(fs::perms what, fs::perm_options how) const {
    // The user changes and its group does not.
    constexpr auto all_read = fs::perms::group_read | fs::perms::group_exec |
                              fs::perms::others_read | fs::perms::others_exec;
    for (const auto& entry : fs::recursive_directory_iterator(cache_)) {
      if (!entry.is_directory()) continue;
      fs::permissions(entry.path(), all_read, fs::perm_options::add);
      fs::permissions(entry.path(), what, how);
    }
    fs::permissions(cache_, all_read, fs::perm_options::add);
    fs::permissions(cache_, what, how);
  }

  fs::path cache_;
  bool root_ = false;
};

TEST_F(Pull, ACacheThatMayNotBeWrittenIsEnoughWhereItHoldsAll) {
  pull();
  {
    const AsReader reader(settings.cache);
    EXPECT_EQ(pull().snapshot, repository / "snapshots" / FakeHub::commit);
    request.choice.variant = "fp16";
    try {
      pull();
      ADD_FAILURE() << "the other weights are not there";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("Permission denied"));
    }
  }
  request.choice.variant = "";
  // Where nobody has locked anything yet, too.
  fs::remove_all(settings.cache / ".locks");
  const AsReader reader(settings.cache);
  EXPECT_EQ(pull().bytes_to_get, 0U);
}

TEST_F(Pull, WithoutTheHubFindsWhatTheCacheHolds) {
  settings.offline = true;
  EXPECT_THAT(refused().message, HasSubstr("does not hold all of someone/dream at main"));
  settings.offline = false;
  const hub::Pulled online = pull();
  const size_t asked = hub.asked().size();
  settings.offline = true;
  const hub::Pulled offline = pull();
  EXPECT_EQ(offline.snapshot, online.snapshot);
  EXPECT_EQ(offline.bytes, online.bytes);
  EXPECT_EQ(hub::plan_pull(settings, request, hooks).files.size(), online.files.size());
  request.revision = FakeHub::commit;
  EXPECT_EQ(pull().commit, FakeHub::commit);
  request.revision = "main";
  request.choice.variant = "fp16";
  EXPECT_THAT(refused().message, HasSubstr("fp16"));
  request.choice.variant = "";
  request.choice.patterns = {"*.md"};
  EXPECT_THAT(refused().message, HasSubstr("no such file"));
  request.choice.patterns = {};
  fs::remove(fs::canonical(online.snapshot / "unet/config.json"));
  EXPECT_THAT(refused().message, HasSubstr("the file that it links to"));
  EXPECT_EQ(hub.asked().size(), asked);
}

TEST_F(Pull, GivesUpOnAHubThatNeverComesToAnEnd) {
  // Half, then a claim that there is no such half, and so on.
  on_weights([&](const FakeHub::Asked& asked, FakeHub::Reply& reply) {
    if (asked.header("range").empty())
      reply.cut_after = 150'000;
    else
      reply = {416, {}, ""};
  });
  EXPECT_THROW(pull(), RunFailed);
  EXPECT_LT(hub.asked().size(), 30U);
  // One byte at a time.
  on_weights([&](const FakeHub::Asked&, FakeHub::Reply& reply) { reply.cut_after = 1; });
  EXPECT_THROW(pull(), RunFailed);
  EXPECT_LT(hub.asked().size(), 1100U);
}

TEST_F(Pull, SaysThatAWebPageIsNoAnswerOfTheHub) {
  hub.fault = [](const FakeHub::Asked&, FakeHub::Reply& reply) {
    reply = {200, {{"Content-Type", "text/html"}}, "\n<!DOCTYPE html><html>Log in</html>"};
  };
  Finding page = refused();
  EXPECT_THAT(page.message, HasSubstr("127.0.0.1"));
  EXPECT_THAT(page.message, HasSubstr("web page"));
  EXPECT_THAT(page.way_out, HasSubstr("HF_ENDPOINT"));
  // The same from a proxy.
  settings.endpoint = "http://hub.example";
  setenv("http_proxy", hub.endpoint().c_str(), 1);
  page = refused();
  unsetenv("http_proxy");
  EXPECT_THAT(page.message, HasSubstr("hub.example"));
  EXPECT_THAT(page.way_out, HasSubstr("(http_proxy)"));
}

TEST_F(Pull, NamesTheProxyThatCannotBeReached) {
  settings.endpoint = "http://hub.example";
  setenv("http_proxy", "http://someone:secret@127.0.0.1:1", 1);
  std::string message;
  try {
    pull();
  } catch (const RunFailed& error) {
    message = error.what();
  }
  unsetenv("http_proxy");
  EXPECT_THAT(message, HasSubstr("hub.example is asked through the proxy http://127.0.0.1:1 "
                                 "(http_proxy)"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("secret")));
  settings.endpoint = "http://127.0.0.1:1";
  try {
    pull();
  } catch (const RunFailed& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("HF_ENDPOINT"));
}

TEST(CacheFolder, IsAFolder) {
  setenv("HF_HUB_CACHE", "/dev/null", 1);
  try {
    hub::check_cache_folder(hub::cache_folder());
    ADD_FAILURE() << "not refused";
  } catch (const InvalidRequest& error) {
    EXPECT_EQ(error.findings()[0].field, "HF_HUB_CACHE");
  }
  setenv("HF_HUB_CACHE", "/nowhere/yet", 1);
  EXPECT_NO_THROW(hub::check_cache_folder(hub::cache_folder()));
  unsetenv("HF_HUB_CACHE");
}

TEST_F(Pull, KeepsRevisionsWithSlashes) {
  request.revision = "refs/pr/1";
  pull();
  EXPECT_EQ(io::read_file(repository / "refs/refs/pr/1", 100), FakeHub::commit);
}

TEST_F(Pull, OfTwoAtOnceFetchesEachFileOnce) {
  std::thread other([&] { hub::pull(settings, request, {}); });
  hub::pull(settings, request, {});
  other.join();
  expect_equal_to_hub();
  EXPECT_LT(hub.bytes_sent(), 310'000U);
}

TEST_F(Pull, IsListedRemovedAndPruned) {
  pull();
  io::write_file(repository / "blobs" / "abc.incomplete", "1234");
  auto listed = hub::cached_repositories(settings.cache);
  ASSERT_EQ(listed.size(), 1U);
  EXPECT_EQ(listed[0].id, "someone/dream");
  EXPECT_EQ(listed[0].bytes_begun, 4U);
  EXPECT_THAT(listed[0].revisions, ElementsAre("main"));
  EXPECT_EQ(hub::prune_cache(settings.cache), 4U);
  expect_equal_to_hub();
  {
    const io::Descriptor fetching = hub::RepositoryCache(settings.cache, "someone/dream").keep();
    EXPECT_THROW(hub::remove_repository(settings.cache, "someone/dream"), InvalidRequest);
  }
  EXPECT_GT(hub::remove_repository(settings.cache, "someone/dream"), 300'000U);
  EXPECT_THAT(hub::cached_repositories(settings.cache), IsEmpty());
  EXPECT_THROW(hub::remove_repository(settings.cache, "someone/dream"), InvalidRequest);
}

TEST(Listing, OfAHostileHubIsRefused) {
  auto listing = [](const std::string& path, const std::string& more) {
    return R"({"sha": "0123456789abcdef0123456789abcdef01234567", "siblings": [{"rfilename": ")" +
           path + R"(", "size": 1, "blobId": "0123456789abcdef0123456789abcdef01234567")" + more +
           "}]}";
  };
  EXPECT_EQ(hub::parse_listing(listing("a/b c.json", ""), "hub").files.size(), 1U);
  for (const char* path : {"../a", "a/../../b", "/a", "a//b", "", "a/", ".", "a\\\\b", "a\\nb"})
    EXPECT_THROW(hub::parse_listing(listing(path, ""), "hub"), InvalidFile) << path;
  EXPECT_THROW(hub::parse_listing(listing("a", R"(, "lfs": {"sha256": "../x"})"), "hub"),
               InvalidFile);
  EXPECT_THROW(hub::parse_listing("[]", "hub"), InvalidFile);
  EXPECT_THROW(hub::parse_listing(R"({"sha": "x", "siblings": []})", "hub"), InvalidFile);
}

TEST(Listing, NamesOfRepositoriesAndRevisionsAreChecked) {
  for (const char* id : {"../x", "a/b/c", "a b/c", "", "a/", "/a", "a--b/c", "a/.git", "-a/b"})
    EXPECT_THROW(hub::check_repository("model", id), InvalidRequest) << id;
  EXPECT_NO_THROW(hub::check_repository("model", "black-forest-labs/FLUX.1-dev"));
  EXPECT_NO_THROW(hub::check_repository("model", "gpt2"));
  for (const char* revision : {"../main", "", "a b", "/main"})
    EXPECT_THROW(hub::check_revision(revision), InvalidRequest) << revision;
}

}  // namespace
}  // namespace omnirt::testing
