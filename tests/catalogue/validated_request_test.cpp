// A run uses what a check of the same request found, unless something changed since.
#include "request/validated_request.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {

namespace fs = std::filesystem;

GenerateRequest small(const fs::path& model) {
  GenerateRequest request;
  request.model = model.string();
  request.inputs["prompt"] = "a cup";
  request.config = {{"num_inference_steps", 1}, {"width", 64}, {"height", 64}};
  return request;
}

fs::path tiny_model() {
  return source_path("tests/goldens/pipelines/sd15/model");
}

// Files that were changed just now may change again without a trace in their times.
void age(const fs::path& folder) {
  const auto hour_ago = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) fs::last_write_time(entry.path(), hour_ago);
}

struct Copied {
  Copied() {
    fs::copy(tiny_model(), model, fs::copy_options::recursive);
    age(model);
  }
  TemporaryFolder folder;
  fs::path model = folder.path() / "model";
};

std::shared_ptr<const ValidatedRequest> kept(const GenerateRequest& request,
                                             const ValidateOptions& options = {}) {
  std::shared_ptr<const ValidatedRequest> validated;
  const Proposal proposal = engine().check(request, options, &validated);
  EXPECT_TRUE(proposal.ok()) << proposal.check_report().to_json().dump();
  return validated;
}

int64_t seed_of(const ConfigValues& config) {
  return config.find("seed")->value.get<int64_t>();
}

// A seed is drawn by each validation, so that the check's shows that there was no other.
TEST(ValidatedRequest, IsWhatTheRunUses) {
  const Copied copied;
  GenerateRequest request = small(copied.model);
  request.config["output_dir"] = copied.folder.path().string();
  const std::shared_ptr<const ValidatedRequest> validated = kept(request);
  ASSERT_NE(validated, nullptr);
  const Proposal* proposal = validated->find(request, {});
  ASSERT_NE(proposal, nullptr);
  RunReport report;
  engine().run(request, {.validated = validated}, {}, report);
  EXPECT_EQ(seed_of(report.config_resolved), seed_of(proposal->config));
  EXPECT_EQ(report.artifacts.size(), 1u);
}

TEST(ValidatedRequest, TellsOfAdaptersAndWarningsOnce) {
  const Copied copied;
  GenerateRequest request = small(copied.model);
  request.config["output_dir"] = copied.folder.path().string();
  request.config["steps_per_cup"] = 3;
  request.adapters = {
      {{"path", source_path("tests/goldens/adapters/files/kohya.safetensors").string()}}};
  RunReport alone, after;
  engine().run(request, {}, {}, alone);
  engine().run(request, {.validated = kept(request)}, {}, after);
  ASSERT_EQ(after.adapters.size(), 1u);
  EXPECT_EQ(to_json(after.adapters.front()), to_json(alone.adapters.front()));
  ASSERT_EQ(after.warnings.size(), alone.warnings.size());
  EXPECT_EQ(after.warnings.front().text(), alone.warnings.front().text());
}

TEST(ValidatedRequest, IsOfTheSameRequestAlone) {
  const Copied copied;
  const GenerateRequest request = small(copied.model);
  const auto validated = kept(request);
  GenerateRequest other = request;
  other.config["num_inference_steps"] = 2;
  EXPECT_EQ(validated->find(other, {}), nullptr);
  other = request;
  other.locations[{"inputs", "image"}] = "/elsewhere";
  EXPECT_EQ(validated->find(other, {}), nullptr);
  EXPECT_EQ(validated->find(request, {.strict = true}), nullptr);
  EXPECT_EQ(validated->find(request, {.confine = "/srv"}), nullptr);
  EXPECT_NE(validated->find(request, {}), nullptr);
}

TEST(ValidatedRequest, HoldsUntilAFileOfTheModelChanges) {
  for (const char* file : {"unet/config.json", "model_index.json", "tokenizer/vocab.json"}) {
    const Copied copied;
    const GenerateRequest request = small(copied.model);
    const auto validated = kept(request);
    std::ofstream(copied.model / file, std::ios::app) << " ";
    EXPECT_EQ(validated->find(request, {}), nullptr) << file;
    age(copied.model);
    EXPECT_EQ(validated->find(request, {}), nullptr) << file;
  }
}

TEST(ValidatedRequest, IsRefusedByTheRunWhereTheModelChangedForTheWorse) {
  const Copied copied;
  const GenerateRequest request = small(copied.model);
  const auto validated = kept(request);
  std::ofstream(copied.model / "model_index.json") << "{";
  RunReport report;
  EXPECT_THROW(engine().run(request, {.validated = validated}, {}, report), InvalidRequest);
}

}  // namespace
}  // namespace omnirt::testing
