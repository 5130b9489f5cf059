// Steps that share what a transformer's blocks add, or predict what its attentions make: images and
// computed calls against diffusers' hooks (tools/goldens/block_cache.py), batches, and what is
// refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/support.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::path cache_goldens() {
  return source_path("tests/goldens/block_cache");
}

class BlockCaches : public ::testing::TestWithParam<std::string> {};

TEST_P(BlockCaches, EqualTheReference) {
  const fs::path golden = cache_goldens() / GetParam();
  const auto expected = read_tensors(golden / "golden.safetensors");
  // As there, a condition at a time.
  GenerateRequest request = folder_request(golden);
  request.config["max_batch_rows"] = 1;
  const Outcome made = run(request);
  EXPECT_GE(psnr(made.image, expected.at("image").permute({0, 3, 1, 2}), 1), 60);
  ASSERT_TRUE(made.report.step_cache.has_value());
  const auto computed = static_cast<uint64_t>(expected.at("computed").item<int64_t>());
  const bool guided = GetParam().ends_with("qwen") || GetParam().ends_with("base");
  const uint64_t conditions = guided ? 2 : 1;
  EXPECT_EQ(made.report.step_cache->full_steps, computed / conditions);
  EXPECT_EQ(made.report.step_cache->full_steps + made.report.step_cache->cached_steps, 12u);
}

INSTANTIATE_TEST_SUITE_P(Goldens, BlockCaches, ::testing::ValuesIn(names_in(cache_goldens())),
                         [](const auto& info) { return info.param; });

TEST(BlockCache, GivesTheSameImagesWhateverTheBatches) {
  GenerateRequest request = folder_request(cache_goldens() / "first_block");
  request.config["num_images_per_prompt"] = 3;
  request.config["max_batch_rows"] = 1;
  const Tensor alone = run(request).image;
  request.config["max_batch_rows"] = 8;
  EXPECT_GE(psnr(run(request).image, alone, 1), 80);
}

TEST(BlockCache, OfAThresholdOfZeroChangesNothing) {
  GenerateRequest request = folder_request(cache_goldens() / "first_block");
  request.config["cache_threshold"] = 0;
  const Outcome full = run(request);
  EXPECT_EQ(full.report.step_cache->cached_steps, 0u);
  request.config.erase("cache");
  request.config.erase("cache_threshold");
  EXPECT_TRUE(run(request).image.equal(full.image));
}

TEST(BlockCache, TakesFlux2AsWell) {
  GenerateRequest request = golden_request("flux2_klein/text2image");
  request.config["num_inference_steps"] = 6;
  request.config["cache"] = "first_block";
  request.config["cache_threshold"] = 10;
  const Outcome made = run(request);
  EXPECT_EQ(made.report.step_cache->full_steps, 1u);
  EXPECT_GT(made.report.memory.kept_between_steps_bytes, 0u);
}

TEST(Predictions, GiveTheSameImagesWhateverTheBatches) {
  GenerateRequest request = folder_request(cache_goldens() / "taylorseer_qwen");
  request.config["num_images_per_prompt"] = 2;
  request.config["max_batch_rows"] = 1;
  const Tensor alone = run(request).image;
  request.config["max_batch_rows"] = 8;
  EXPECT_GE(psnr(run(request).image, alone, 1), 80);
}

TEST(Predictions, GiveTheSameBitsWhereWeightsComeAndGo) {
  GenerateRequest request = folder_request(cache_goldens() / "taylorseer_flux2");
  const Tensor resident = run(request).image;
  request.config.update({{"offload", "group"}, {"blocks_per_group", 1}});
  EXPECT_TRUE(run(request).image.equal(resident));
}

TEST(Predictions, OfAnIntervalOfOneChangeNothing) {
  GenerateRequest request = folder_request(cache_goldens() / "taylorseer");
  request.config["cache_interval"] = 1;
  const Outcome full = run(request);
  EXPECT_EQ(full.report.step_cache->kind, "taylorseer");
  EXPECT_EQ(full.report.step_cache->cached_steps, 0u);
  request.config.erase("cache");
  request.config.erase("cache_interval");
  EXPECT_TRUE(run(request).image.equal(full.image));
}

// The reference cannot: its first step has other tokens than the others.
TEST(BlockCache, TakesQwenImage21AsWell) {
  GenerateRequest request = golden_request("qwen_image_21/text2image");
  request.config["num_inference_steps"] = 8;
  const Tensor full = run(request).image;
  for (const Json& config :
       {Json{{"cache", "first_block"}, {"cache_threshold", 10}}, Json{{"cache", "taylorseer"}},
        Json{{"cache", "taylorseer"}, {"use_lite_mode", true}}}) {
    GenerateRequest cached = request;
    cached.config.update(config);
    const Outcome made = run(cached);
    EXPECT_GT(made.report.step_cache->cached_steps, 0u) << config;
    EXPECT_FALSE(made.image.equal(full)) << config;
    EXPECT_GT(psnr(made.image, full, 1), 10) << config;
  }
}

// The reference has no hooks for these; they share steps as every TransformerNetwork does.
class DriverCaches : public ::testing::TestWithParam<std::string> {};

TEST_P(DriverCaches, ShareStepsAndAtAThresholdOfZeroChangeNothing) {
  GenerateRequest request = golden_request(GetParam() + "/text2image");
  request.config["num_inference_steps"] = 6;
  const Tensor full = run(request).image;
  auto cached = [&](const Json& config) {
    GenerateRequest with = request;
    with.config.update(config);
    return run(with);
  };
  const Outcome unchanged = cached({{"cache", "first_block"}, {"cache_threshold", 0}});
  EXPECT_EQ(unchanged.report.step_cache->cached_steps, 0u);
  EXPECT_TRUE(unchanged.image.equal(full));
  for (const Json& config :
       {Json{{"cache", "first_block"}, {"cache_threshold", 10}},
        Json{{"cache", "mag"}, {"cache_ratios", {1.0, 1.0}}, {"cache_threshold", 10}},
        Json{{"cache", "taylorseer"}, {"use_lite_mode", true}}}) {
    const Outcome made = cached(config);
    EXPECT_GT(made.report.step_cache->cached_steps, 0u) << config;
    EXPECT_FALSE(made.image.equal(full)) << config;
    EXPECT_GT(psnr(made.image, full, 1), 10) << config;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DriverCaches,
                         ::testing::Values("aura_flow", "flux3_klein_base", "lumina2",
                                           "pixart_sigma", "sana"),
                         [](const auto& info) { return info.param; });

TEST(BlockCache, IsRefusedByNameWhereItDoesNotFit) {
  auto message = [](GenerateRequest request, const Json& config) {
    request.config.update(config);
    const Proposal proposal = engine().check(request);
    return proposal.errors.empty() ? std::string() : proposal.errors[0].message;
  };
  const GenerateRequest flux = golden_request("flux_dev/text2image");
  EXPECT_THAT(message(golden_request("sd15/text2image"), {{"cache", "first_block"}}),
              HasSubstr("UNet2DConditionModel has no place where steps could share what its"));
  EXPECT_THAT(message(golden_request("lumina2/text2image"), {{"cache", "taylorseer"}}),
              HasSubstr("cannot predict single attentions of Lumina2Transformer2DModel"));
  EXPECT_EQ(message(golden_request("lumina2/text2image"),
                    {{"cache", "taylorseer"}, {"use_lite_mode", true}}),
            "");
  EXPECT_EQ(message(flux, {{"cache", "taylorseer"}, {"disable_cache_before_step", 0}}),
            "out of range");
  EXPECT_EQ(message(flux, {{"cache", "taylorseer"}, {"max_order", 9}}), "out of range");
  EXPECT_NE(message(flux, {{"cache", "taylorseer"}, {"taylor_factors_dtype", "int8"}}), "");
  EXPECT_THAT(message(flux, {{"cache", "deep"}}), HasSubstr("could share features"));
  EXPECT_THAT(message(flux, {{"cache", "mag"}}), HasSubstr("needs the ratios of the model"));
  EXPECT_THAT(message(flux, {{"cache", "mag"}, {"cache_ratios", {1.0, "2"}}}),
              HasSubstr("not 1 to 1000 numbers above 0"));
  EXPECT_THAT(message(flux, {{"cache", "mag"}, {"cache_ratios", {1.0, 0.0}}}),
              HasSubstr("not 1 to 1000 numbers above 0"));
  EXPECT_EQ(message(flux, {{"cache", "mag"}, {"cache_ratios", {1.0, 1.1}}}), "");
}

}  // namespace
}  // namespace omnirt::testing
