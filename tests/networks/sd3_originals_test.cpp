// Stable Diffusion 3's original layout and its LoRAs against diffusers
// (tools/goldens/sd3_originals.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/originals.hpp"
#include "networks/sd3_transformer_2d_model/model.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* sd3_case = "tests/goldens/networks/sd3_transformer_dual";

std::unique_ptr<nn::Network> tiny_sd3() {
  return make_network(read_json(source_path(sd3_case) / "config.json"));
}

TEST(SD3Originals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(sd3_case);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

// The config of a published model, as its file in the original layout says it.
TEST(SD3Originals, OfStockModelsHaveTheirConfigs) {
  for (const char* model : {"sd3-medium", "sd3.5-medium", "sd3.5-large"}) {
    SCOPED_TRACE(model);
    auto network = make_network(
        read_json(source_path("tests/data/configs") / model / "transformer/config.json"));
    const Shapes shapes = original_shapes(*network);
    EXPECT_EQ(shapes.contains("joint_blocks.12.x_block.attn2.qkv.weight"),
              std::string(model) == "sd3.5-medium");
    const nn::FromTensors& told = sd3_transformer_2d_model_info().from_tensors;
    expect_same_parameters(*make_network(told.config(shapes, "components.transformer")), *network);
  }
}

TEST(SD3Originals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = sd3_transformer_2d_model_info().from_tensors;
  EXPECT_TRUE(told.config({{"x_embedder.proj.weight", {8, 4, 2, 2}}}, "transformer").is_null());
  EXPECT_THAT([&] { told.config(original_shapes(*tiny_sd3()), "transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 64")));
}

class SD3Lora : public ::testing::TestWithParam<const char*> {};

TEST_P(SD3Lora, ChangesWeightsAsTheReferenceDoes) {
  expect_changes_of_reference(*tiny_sd3(), sd3_case, GetParam(), 18);
}

INSTANTIATE_TEST_SUITE_P(Layouts, SD3Lora,
                         ::testing::Values("lora_diffusers", "lora_kohya", "lora_kohya_diffusers",
                                           "lora_original"));

}  // namespace
}  // namespace omnirt::testing
