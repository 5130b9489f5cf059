// Weights of layers that are kept in a narrower type: files against diffusers' layerwise casting
// (tools/goldens/storage_dtype.py), memory, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/support.hpp"
#include "io/compare.hpp"
#include "io/image.hpp"

namespace omnirt::testing {
namespace {
namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::path storage_goldens() {
  return source_path("tests/goldens/storage_dtype");
}

class StorageDtype : public ::testing::TestWithParam<std::string> {};

TEST_P(StorageDtype, EqualsTheReference) {
  const fs::path golden = storage_goldens() / GetParam();
  GenerateRequest request = folder_request(golden);
  const io::Image expected = io::read_image(golden / "image.png");
  EXPECT_GE(io::psnr(written_image(request), expected), 60);
  // The cast took hold.
  request.config.erase("storage_dtype");
  EXPECT_LT(io::psnr(written_image(request), expected), 60);
}

INSTANTIATE_TEST_SUITE_P(Goldens, StorageDtype, ::testing::ValuesIn(names_in(storage_goldens())),
                         [](const auto& info) { return info.param; });

GenerateRequest cast_request(const Json& config = Json::object()) {
  GenerateRequest request = folder_request(storage_goldens() / "sd15");
  request.config.update(config);
  return request;
}

uint64_t planned_bytes(const GenerateRequest& request, const std::string& component) {
  const Proposal proposal = engine().check(request);
  for (const PlannedComponentReport& each : proposal.memory_plan.value().components) {
    if (each.name == component) return each.bytes;
  }
  return 0;
}

TEST(StorageOfWeights, IsCountedInThePlanAndReported) {
  GenerateRequest request = cast_request({{"offload", "none"}});
  const uint64_t narrow = planned_bytes(request, "unet");
  request.config.erase("storage_dtype");
  const uint64_t stored = planned_bytes(request, "unet");
  EXPECT_LT(narrow, stored);
  EXPECT_GT(narrow, stored / 2);  // norms and what the patterns name stay in fp16
  const Outcome made = run(cast_request());
  for (const PlacementReport& placed : made.report.device_placement) {
    EXPECT_EQ(placed.kept_dtype, placed.component == "unet" ? "float8_e4m3fn" : "");
  }
  EXPECT_GT(made.report.memory.weights_converted_bytes, 0u);
}

TEST(StorageOfWeights, ComesAndGoesInGroupsWithTheSameImage) {
  const Tensor whole = run(cast_request()).image;
  const Outcome moved = run(cast_request({{"offload", "leaf"}}));
  EXPECT_TRUE(moved.image.equal(whole));
  EXPECT_GT(moved.report.memory.weights_moved_bytes, 0u);
}

TEST(StorageOfWeights, IsTheSameImageAtEachLevelThatTakesIt) {
  const Tensor compiled = run(cast_request({{"matmul_precision", "highest"}})).image;
  const Tensor overridden = run(cast_request({{"level", "kernel_override"}})).image;
  EXPECT_GE(psnr(overridden, compiled, 1), 80);
}

TEST(StorageOfWeights, IsRefusedByNameWhereItDoesNotFit) {
  auto message = [](const Json& config) {
    const Proposal proposal = engine().check(cast_request(config));
    return proposal.errors.empty() ? std::string() : proposal.errors[0].message;
  };
  EXPECT_THAT(message({{"quantize", "int8"}}), HasSubstr("does not go with quantize int8"));
  EXPECT_THAT(message({{"pack", "always"}}), HasSubstr("does not go with pack always"));
  EXPECT_THAT(message({{"level", "eager"}}), HasSubstr("does not go with level eager"));
  EXPECT_THAT(message({{"storage_dtype", "fp4"}}),
              HasSubstr("not a type that weights are kept in"));
  EXPECT_THAT(message({{"storage_dtype", {{"unet", 8}}}}),
              HasSubstr("not a type that weights are kept in"));
  EXPECT_THAT(message({{"storage_dtype", {{"transformer", "bf16"}}}}),
              HasSubstr("no network of this run has this name"));
  // The folder's weights are in fp16.
  EXPECT_THAT(message({{"storage_dtype", "bf16"}}), HasSubstr("stored in a wider type than bf16"));
  EXPECT_EQ(message(Json::object()), "");
}

}  // namespace
}  // namespace omnirt::testing
