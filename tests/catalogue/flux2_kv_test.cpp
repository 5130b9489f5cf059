// FLUX.2 klein that keeps what its blocks make of reference images: what holds of a run next to its
// goldens, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/findings.hpp"
#include "catalogue/support.hpp"
#include "catalogue/whole_runs.hpp"
#include "io/file.hpp"

namespace omnirt::testing {
namespace {

using ::testing::IsEmpty;

GenerateRequest kv_request(const std::string& name = "edit_of_two") {
  return golden_request("flux2_klein_kv/" + name);
}

TEST(Flux2KV, IsAnEntryOfItsOwnWithTheReferencesDefaults) {
  GenerateRequest request = kv_request("text2image");
  request.config = Json::object();
  const Proposal proposal = engine().check(request);
  EXPECT_THAT(proposal.errors, IsEmpty());
  EXPECT_EQ(proposal.spec->id, "flux2.klein-9b-kv");
  EXPECT_EQ(proposal.config.find("num_inference_steps")->value, 4);
  EXPECT_EQ(proposal.config.find("max_sequence_length")->value, 512);
}

TEST(Flux2KV, RefusesGuidanceWhateverItsIndexSays) {
  TemporaryFolder folder;
  std::filesystem::copy(kv_request().model, folder.path() / "model",
                        std::filesystem::copy_options::recursive);
  Json index = read_json_file(folder.path() / "model" / "model_index.json");
  index["is_distilled"] = false;
  io::write_file(folder.path() / "model" / "model_index.json", index.dump());
  GenerateRequest request = kv_request();
  request.model = folder.file("model");
  EXPECT_THAT(engine().check(request).errors, IsEmpty());
  request.config["guidance_scale"] = 3.0;
  EXPECT_THAT(engine().check(request).errors, about("config.guidance_scale", "distilled"));
}

TEST(Flux2KV, RefusesToRepaint) {
  GenerateRequest request = kv_request("edit");
  request.task = "inpaint";
  request.inputs["mask"] = source_path("tests/goldens/pipelines/inputs/mask.png").string();
  const Proposal proposal = engine().check(request);
  ASSERT_FALSE(proposal.errors.empty());
  EXPECT_EQ(proposal.errors[0].field, "task");
}

// Whatever goes through the network together, the images to go by are read once per run.
TEST(Flux2KV, GivesTheSameImagesInBatchesOfAnySize) {
  expect_the_same_in_batches_of_any_size(kv_request());
}

TEST(Flux2KV, GivesTheBytesOfTheWholeRunAfterAnyCut) {
  expect_the_same_after_any_cut(kv_request("edit"));
}

// What a further image adds to a run's state; the plan rounds each tensor up.
TEST(Flux2KV, WhatIsKeptOfReferencesIsInThePlan) {
  struct Bytes {
    int64_t planned, kept;
  };
  auto bytes_of = [](GenerateRequest request) -> Bytes {
    request.config.update({{"offload", "component"}, {"width", 64}, {"height", 48}});
    const RunReport report = run(std::move(request)).report;
    return {static_cast<int64_t>(report.memory.plan.value().kept_between_steps_bytes),
            static_cast<int64_t>(report.memory.kept_between_steps_bytes)};
  };
  GenerateRequest one = kv_request("edit"), two = one;
  two.inputs["image_reference"] = kv_request().inputs["image_reference"];
  const Bytes less = bytes_of(one), more = bytes_of(two);
  const int64_t tokens = (88 / 8) * (72 / 8), width = 36, blocks = 5;
  const int64_t kept = more.kept - less.kept, planned = more.planned - less.planned;
  EXPECT_GE(kept, tokens * width * blocks * 2 * 4);
  EXPECT_GE(planned, kept);
  EXPECT_LE(planned, kept + 2 * (blocks + 1) * 64);
}

// The first step has the tokens of the others, so that steps can share; in the reference it has
// not.
TEST(Flux2KV, TakesCachesOfSteps) {
  GenerateRequest request = kv_request("edit");
  request.config["num_inference_steps"] = 8;
  const Tensor full = run(request).image;
  for (const Json& config :
       {Json{{"cache", "first_block"}, {"cache_threshold", 10}}, Json{{"cache", "taylorseer"}},
        Json{{"cache", "mag"}, {"cache_ratios", {1, 1, 1, 1, 1, 1, 1, 1}}}}) {
    GenerateRequest cached = request;
    cached.config.update(config);
    const Outcome made = run(cached);
    EXPECT_GT(made.report.step_cache->cached_steps, 0U) << config;
    EXPECT_FALSE(made.image.equal(full)) << config;
    EXPECT_GT(psnr(made.image, full, 1), 10) << config;
  }
  request.config.update({{"cache", "first_block"}, {"cache_threshold", 0}});
  EXPECT_TRUE(run(request).image.equal(full));
}

}  // namespace
}  // namespace omnirt::testing
