// Z-Image's original layout and its adapters against diffusers
// (tools/goldens/z_image_originals.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/originals.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* z_image_case = "tests/goldens/networks/z_image_transformer";

std::unique_ptr<nn::Network> tiny_z_image() {
  return make_network(read_json(source_path(z_image_case) / "config.json"));
}

TEST(ZImageOriginals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(z_image_case);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

TEST(ZImageOriginals, TellThePublishedModelsConfig) {
  Json config = read_json(source_path("tests/data/configs/z-image-turbo/transformer/config.json"));
  auto network = make_network(config);
  const nn::FromTensors& told = z_image_transformer_2d_model_info().from_tensors;
  expect_same_parameters(
      *make_network(told.config(original_shapes(*network), "components.transformer")), *network);
}

TEST(ZImageOriginals, TellWhetherTheyAreOmnis) {
  const Json config = {{"_class_name", "ZImageTransformer2DModel"},
                       {"dim", 128},
                       {"n_heads", 1},
                       {"n_layers", 2},
                       {"n_refiner_layers", 1},
                       {"cap_feat_dim", 20},
                       {"siglip_feat_dim", 24}};
  auto network = make_network(config);
  const auto shapes = original_shapes(*network);
  EXPECT_TRUE(shapes.contains("siglip_refiner.0.attention.qkv.weight"));
  const nn::FromTensors& told = z_image_transformer_2d_model_info().from_tensors;
  expect_same_parameters(*make_network(told.config(shapes, "components.transformer")), *network);
}

TEST(ZImageOriginals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = z_image_transformer_2d_model_info().from_tensors;
  // Lumina 2 has the same names except for the tokens that pad.
  EXPECT_TRUE(
      told.config({{"x_embedder.weight", {8, 4}}, {"layers.0.attention.qkv.weight", {24, 8}}},
                  "components.transformer")
          .is_null());
  EXPECT_THAT([&] { told.config(original_shapes(*tiny_z_image()), "transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 128")));
}

class ZImageAdapters : public ::testing::TestWithParam<const char*> {};

TEST_P(ZImageAdapters, ChangeWeightsAsTheReferenceDoes) {
  expect_changes_of_reference(*tiny_z_image(), z_image_case, GetParam(), 9);
}

// They fit Omni's transformer, which has the same parts and more.
TEST_P(ZImageAdapters, ChangeOmnisWeightsToo) {
  const auto omni = make_network(
      read_json(source_path("tests/goldens/networks/z_image_omni_transformer") / "config.json"));
  expect_changes_of_reference(*omni, z_image_case, GetParam(), 9);
}

INSTANTIATE_TEST_SUITE_P(Layouts, ZImageAdapters,
                         ::testing::Values("lora_diffusers", "lora_ai_toolkit", "lora_kohya",
                                           "lora_kohya_split", "lokr_ai_toolkit"));

}  // namespace
}  // namespace omnirt::testing
