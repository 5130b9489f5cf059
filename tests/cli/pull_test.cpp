// Downloads, from a hub on this machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/json.hpp"
#include "cli/program.hpp"
#include "hub/fake_hub.hpp"
#include "io/file.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The embedded model as a repository.
class PullCommand : public ::testing::Test {
 protected:
  PullCommand() {
    setenv("HF_ENDPOINT", hub.endpoint().c_str(), 1);
    setenv("HF_HUB_CACHE", scratch.file("cache").c_str(), 1);
    setenv("NO_PROXY", "127.0.0.1", 1);
    const fs::path model = source_path("models/emoji");
    constexpr size_t most = size_t{64} << 20, large = size_t{1} << 20;
    for (const auto& entry : fs::recursive_directory_iterator(model)) {
      if (!entry.is_regular_file()) continue;
      std::string bytes = io::read_file(entry.path(), most);
      bool is_large = bytes.size() > large;
      hub.files[fs::relative(entry.path(), model).string()] = {std::move(bytes), is_large};
    }
  }
  ~PullCommand() override {
    for (const char* name : {"HF_ENDPOINT", "HF_HUB_CACHE", "NO_PROXY"}) unsetenv(name);
  }

  FakeHub hub;
  Scratch scratch;
};

TEST_F(PullCommand, WhatIsPulledRunsByTheRepositorysName) {
  Ended missing = run_program({"validate", "-m", "someone/dream", "-p", "a red apple"});
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("omnirt pull someone/dream"));
  Ended listed = run_program({"pull", "someone/dream", "--dry-run"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_THAT(listed.out, HasSubstr("transformer/diffusion_pytorch_model.safetensors"));
  Ended pulled = run_program({"pull", "someone/dream"});
  ASSERT_EQ(pulled.exit_code, 0) << pulled.err;
  EXPECT_THAT(pulled.err, HasSubstr("100 %"));
  std::string image = scratch.file("x.png");
  Ended made = run_program(
      {"generate", "-m", "someone/dream", "-p", "a red apple", "--steps", "1", "-o", image});
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_TRUE(fs::exists(image));
}

TEST_F(PullCommand, TheCacheIsListedAndFreed) {
  ASSERT_EQ(run_program({"pull", "someone/dream", "model_index.json", "-q"}).exit_code, 0);
  Json listed = Json::parse(run_program({"cache", "--json"}).out);
  EXPECT_EQ(listed["repositories"][0]["repository"], "someone/dream");
  EXPECT_EQ(run_program({"cache", "--prune"}).exit_code, 0);
  Ended removed = run_program({"cache", "--remove", "someone/dream"});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_FALSE(fs::exists(scratch.path() / "cache" / "models--someone--dream"));
  EXPECT_EQ(run_program({"cache", "--remove", "someone/dream"}).exit_code, 2);
}

TEST_F(PullCommand, RefusesWithTheReason) {
  EXPECT_EQ(run_program({"pull", "../x"}).exit_code, 2);
  Ended unknown = run_program({"pull", "someone/else"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("there is no such repository, or it is private"));
  setenv("HF_ENDPOINT", "ftp://hub", 1);
  Ended address = run_program({"pull", "someone/dream"});
  EXPECT_EQ(address.exit_code, 2);
  EXPECT_THAT(address.err, HasSubstr("HF_ENDPOINT"));
  setenv("HF_ENDPOINT", "http://hub.example", 1);
  setenv("HF_TOKEN", "hf_secret", 1);
  Ended token = run_program({"pull", "someone/dream"});
  unsetenv("HF_TOKEN");
  EXPECT_EQ(token.exit_code, 2);
  EXPECT_THAT(token.err, HasSubstr("unencrypted"));
}

}  // namespace
}  // namespace omnirt::testing
