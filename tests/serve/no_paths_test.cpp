// Nothing that a client may read shows where the server keeps its files, or where its broker is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "base/path_text.hpp"
#include "io/image.hpp"
#include "io/lost_pages.hpp"
#include "request/request.hpp"
#include "serve/base64.hpp"
#include "serve/broker/redis_broker.hpp"
#include "serve/broker/run_parts.hpp"
#include "serve/request_files.hpp"
#include "serve/run_job.hpp"
#include "serve/running_server.hpp"
#include "serve/served_models.hpp"
#include "serve/temporary.hpp"
#include "source_paths.hpp"

namespace omnirt::serve {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

void write_text(const fs::path& file, const std::string& text) {
  fs::remove(file);
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

fs::path weights_of(const fs::path& component) {
  for (const auto& entry : fs::directory_iterator(component))
    if (entry.path().extension() == ".safetensors") return entry.path();
  return {};
}

// An absolute path of two parts or more, which no route of the server is.
bool names_a_path(const std::string& text) {
  static const std::regex path(R"((^|[^\w./+-])/(?!v1/|sdapi/|readyz|healthz)[\w.-]+/[\w.-]+)");
  return std::regex_search(text, path);
}

void expect_no_path(const std::string& text, const fs::path& folder) {
  EXPECT_FALSE(names_a_path(text)) << text;
  for (const std::string& place :
       {folder.string(), source_path("").string(), std::string("omnirt-serve-")})
    EXPECT_THAT(text, Not(HasSubstr(place)));
}

// A folder with a small model, and LoRAs, that a test may spoil.
struct Spoilable {
  Spoilable() {
    fs::copy(source_path("tests/goldens/pipelines/sd15/model"), model, fs::copy_options::recursive);
    fs::create_directory(loras);
  }
  Temporary folder{Temporary::in_memory()};
  fs::path model = folder.path() / "tiny-model", loras = folder.path() / "loras";
};

struct Spoiled {
  const char* what;
  std::function<void(const fs::path& model)> spoil;
  const char* shown;  // in the text: that names are left
};

const std::vector<Spoiled>& all_spoiled() {
  static const std::vector<Spoiled> all{
      {"an index that is no JSON",
       [](const fs::path& m) { write_text(m / "model_index.json", "{"); }, "tiny/model_index.json"},
      {"a config that is no JSON",
       [](const fs::path& m) { write_text(m / "unet/config.json", "{"); }, "tiny/unet/config.json"},
      {"a config with an unknown value",
       [](const fs::path& m) {
         Json config = parse_json(R"({"_class_name": "UNet2DConditionModel"})", "", 100);
         config["class_embed_type"] = "other";
         write_text(m / "unet/config.json", config.dump());
       },
       "tiny/unet/config.json"},
      {"weights that are missing", [](const fs::path& m) { fs::remove(weights_of(m / "unet")); },
       "tiny/unet"},
      {"a component that is missing", [](const fs::path& m) { fs::remove_all(m / "vae"); },
       "tiny/vae"},
      {"a link that leads nowhere",
       [](const fs::path& m) {
         const fs::path file = weights_of(m / "unet");
         fs::remove(file);
         fs::create_symlink("/nowhere/secret/blob", file);
       },
       "blob"},
      {"weights that are cut off",
       [](const fs::path& m) { fs::resize_file(weights_of(m / "unet"), 5000); }, "tiny/unet"},
      {"weights of another network",
       [](const fs::path& m) {
         const fs::path file = weights_of(m / "unet");
         fs::remove(file);
         fs::copy_file(weights_of(m / "vae"), file);
       },
       ""},
      {"a tokenizer without merges",
       [](const fs::path& m) { fs::remove(m / "tokenizer/merges.txt"); }, "tiny/tokenizer"},
      {"a vocabulary that is no JSON",
       [](const fs::path& m) { write_text(m / "tokenizer/vocab.json", "[1"); },
       "tiny/tokenizer/vocab.json"},
      {"a scheduler's config that is no JSON",
       [](const fs::path& m) { write_text(m / "scheduler/scheduler_config.json", "nothing"); },
       "tiny/scheduler/scheduler_config.json"},
      {"names of things that are no UTF-8",
       [](const fs::path& m) { write_text(m / "things.txt", "\xff\xfe"); }, ""},
  };
  return all;
}

Json request_of(const char* model) {
  return {{"model", model},
          {"inputs", {{"prompt", "a cup"}}},
          {"config", {{"seed", 1}, {"num_inference_steps", 2}, {"height", 64}, {"width", 64}}}};
}

// Every answer that tells of the model, of the job or of its end.
std::string all_answers(const Running& running, const Json& request) {
  std::string all;
  for (const char* route : {"/v1/validate", "/v1/generate"})
    all += running.post(route, request).body;
  Json waiting = request;
  waiting["async"] = true;
  all += running.post("/v1/generate", waiting).body;
  const Json jobs = running.get("/v1/jobs").json();
  for (const Json& job : jobs["jobs"]) {
    const std::string id = job["id"];
    all += running.follow(id);
    all += running.get("/v1/jobs/" + id).body;
  }
  for (const char* route : {"/v1/models", "/v1/models/tiny", "/v1/adapters", "/v1/jobs"})
    all += running.get(route).body;
  return all;
}

ServerOptions options_of(const Spoilable& spoilable) {
  ServerOptions options;
  options.models = {"tiny=" + spoilable.model.string()};
  options.lora_folders = {spoilable.loras.string()};
  return options;
}

TEST(NoPaths, OfAServerWhoseModelIsWhole) {
  const Spoilable spoilable;
  fs::copy_file(source_path("tests/goldens/adapters/files/kohya.safetensors"),
                spoilable.loras / "style.safetensors");
  const Running running(options_of(spoilable));
  Json request = request_of("tiny");
  request["adapters"] = {"style:0.5"};
  const std::string all = all_answers(running, request);
  EXPECT_THAT(all, HasSubstr(R"("state":"done")"));
  EXPECT_THAT(all, HasSubstr("style"));
  expect_no_path(all, spoilable.folder.path());
}

TEST(NoPaths, OfAServerWhoseModelIsSpoiled) {
  for (const Spoiled& each : all_spoiled()) {
    SCOPED_TRACE(each.what);
    const Spoilable spoilable;
    const Running running(options_of(spoilable));
    each.spoil(spoilable.model);
    const std::string all = all_answers(running, request_of("tiny"));
    EXPECT_THAT(all, HasSubstr(each.shown));
    expect_no_path(all, spoilable.folder.path());
  }
}

TEST(NoPaths, OfAServerWithABadLora) {
  const Spoilable spoilable;
  write_text(spoilable.loras / "broken.safetensors", "no tensors");
  fs::copy_file(weights_of(spoilable.model / "vae"), spoilable.loras / "other.safetensors");
  const Running running(options_of(spoilable));
  for (const char* name : {"broken", "other", "missing"}) {
    SCOPED_TRACE(name);
    Json request = request_of("tiny");
    request["adapters"] = {name};
    const std::string all = all_answers(running, request);
    EXPECT_THAT(all, HasSubstr(name));
    expect_no_path(all, spoilable.folder.path());
  }
}

TEST(NoPaths, OfAServerThatIsGivenABadImage) {
  const Spoilable spoilable;
  const Running running(options_of(spoilable));
  Json request = request_of("tiny");
  std::string cut = io::encode_image(io::Image::zeros(64, 64, 3), io::ImageFormat::png);
  cut.resize(cut.size() / 2);
  request["inputs"]["image"] = {{"data", base64_of(cut)}};
  const std::string all = all_answers(running, request);
  EXPECT_THAT(all, HasSubstr("input-0.png"));
  expect_no_path(all, spoilable.folder.path());
}

TEST(NoPaths, OfAServerThatIsAskedForOtherBackends) {
  const Spoilable spoilable;
  const Running running(options_of(spoilable));
  for (const char* backend : {"cuda", "ascend", "none-such"}) {
    SCOPED_TRACE(backend);
    Json request = request_of("tiny");
    request["backend"] = backend;
    expect_no_path(all_answers(running, request), spoilable.folder.path());
  }
}

// A run whose files change under it, at its first progress.
class Interfering final : public RunControl {
 public:
  explicit Interfering(std::function<void()> interfere) : interfere_(std::move(interfere)) {}
  void at(const JobProgress&) override {
    if (interfere_) std::exchange(interfere_, {})();
  }
  void preview(std::string) override {}
  const CancelToken& cancel() const override { return token_; }

 private:
  std::function<void()> interfere_;
  CancelToken token_;
};

class NoPathsOfRun : public testing::Test {
 protected:
  NoPathsOfRun() {
    io::survive_lost_pages();
    models_.models["tiny"] = spoilable_.model.string();
    models_.first = "tiny";
    models_.lora_folders = {spoilable_.loras};
    names_.emplace(names_of_folders(test_session(), models_));
    job_.id = "0123456789abcdef0123456789abcdef";
    files_.begin(job_.id);
    served_.request = parse_request(request_of("tiny"));
  }

  // Text and findings of the error that a run ends with, and its report.
  std::string failure(std::function<void()> interfere = {}) {
    job_.request = job_request_text(served_);
    std::string told;
    const RunOnSession run(test_session(), files_, models_,
                           {.on_report = [&](const RunReport& report) {
                             told += public_report(report.to_json()).dump();
                           }});
    Interfering control(std::move(interfere));
    try {
      run(job_, control);
      ADD_FAILURE() << "the run was to fail";
    } catch (const Error& error) {
      told += error.what();
    }
    expect_no_path(told, spoilable_.folder.path());
    return told;
  }

  Spoilable spoilable_;
  ServedModels models_;
  std::optional<PathNames> names_;
  JobFiles files_{spoilable_.folder.path() / "state/jobs"};
  Job job_;
  ServedRequest served_;
};

TEST_F(NoPathsOfRun, WhoseInputIsGone) {
  served_.request.inputs["image"] = {{sent_file_key, "input-0.png"}};
  EXPECT_THAT(failure(), HasSubstr("input-0.png"));
  files_.write(job_.id, "input-0.png", "no image");
  EXPECT_THAT(failure(), HasSubstr("input-0.png"));
}

TEST_F(NoPathsOfRun, WhoseModelIsCutOffMeanwhile) {
  const auto cut = [&] {
    for (const char* component : {"unet", "vae", "text_encoder"})
      fs::resize_file(weights_of(spoilable_.model / component), 0);
  };
  EXPECT_THAT(failure(cut), HasSubstr("tiny/"));
}

TEST_F(NoPathsOfRun, WhoseFolderIsGoneMeanwhile) {
  const fs::path folder = files_.folder_of(job_.id);
  failure([&] {
    fs::remove_all(folder);
    write_text(folder, "no folder");
  });
}

TEST_F(NoPathsOfRun, WhoseStateIsNone) {
  RunParts parts(test_session(), files_, models_, {.parts = {WorkPart::decode}});
  SharedJob shared;
  shared.job = job_;
  shared.part = WorkPart::decode;
  shared.job.request = job_request_text(served_);
  Interfering control({});
  try {
    parts(shared, {{"state.safetensors", "no state"}}, "worker-1", control);
    ADD_FAILURE() << "the run was to fail";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("state.safetensors"));
    expect_no_path(error.what(), spoilable_.folder.path());
  }
}

TEST_F(NoPathsOfRun, WhoseStoredRequestNamesAPath) {
  served_.request.inputs["image"] = "/etc/passwd";
  job_.request = job_request_text(served_);
  const RunOnSession run(test_session(), files_, models_, {});
  Interfering control({});
  EXPECT_THROW(run(job_, control), InvalidRequest);
}

TEST(NoPaths, OfABrokerThatIsGone) {
  try {
    RedisBroker broker({.host = "127.0.0.1", .port = 1}, 50);
    broker.snapshot();
    ADD_FAILURE() << "nothing answers there";
  } catch (const BrokerLost& error) {
    EXPECT_THAT(error.what(), HasSubstr("Redis cannot be reached"));
    EXPECT_THAT(error.what(), Not(HasSubstr("127.0.0.1")));
    EXPECT_THAT(error.what(), Not(HasSubstr(":1")));
  }
}

}  // namespace
}  // namespace omnirt::serve
