// Lumina 2's transformer, its original layout and its LoRAs against diffusers, over tiny random
// checkpoints (tools/goldens/lumina2.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/denoiser_goldens.hpp"
#include "networks/lumina2_transformer_2d_model/model.hpp"
#include "networks/originals.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* lumina2_case = "tests/goldens/networks/lumina2_transformer";
// fp32 on both sides; what is left comes from the order of additions.
constexpr double lumina2_tolerance = 1e-5;

std::unique_ptr<nn::Network> tiny_lumina2() {
  return make_network(read_json(source_path(lumina2_case) / "config.json"));
}

TEST(Lumina2Transformer2DModel, GivesTheReferencesPrediction) {
  expect_predictions_of_cases("lumina2_transformer", lumina2_tolerance);
}

TEST(Lumina2Transformer2DModel, RefusesWhatItCannotMake) {
  auto refused = [](const Json& config) {
    return
        [config] { make<Lumina2Transformer2DModel>(lumina2_transformer_2d_model_info(), config); };
  };
  EXPECT_THAT(refused({{"axes_dim_rope", {48, 48}}}),
              ThrowsMessage<Unsupported>(HasSubstr("3 axes")));
  EXPECT_THAT(refused({{"axes_dim_rope", {32, 32, 16}}}),
              ThrowsMessage<Unsupported>(HasSubstr("axes_dim_rope")));
  EXPECT_THAT(refused({{"axes_lens", {300, 512}}}),
              ThrowsMessage<Unsupported>(HasSubstr("axes_lens")));
  EXPECT_THAT(refused({{"num_kv_heads", 7}}),
              ThrowsMessage<Unsupported>(HasSubstr("num_kv_heads")));
  EXPECT_THAT(refused({{"ffn_dim_multiplier", 0.0}}),
              ThrowsMessage<Unsupported>(HasSubstr("ffn_dim_multiplier")));
}

TEST(Lumina2Originals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(lumina2_case);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

TEST(Lumina2Originals, TellThePublishedModelsConfig) {
  auto network = make_network(
      read_json(source_path("tests/data/configs/lumina-image-2/transformer/config.json")));
  const nn::FromTensors& told = lumina2_transformer_2d_model_info().from_tensors;
  expect_same_parameters(
      *make_network(told.config(original_shapes(*network), "components.transformer")), *network);
}

TEST(Lumina2Originals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = lumina2_transformer_2d_model_info().from_tensors;
  // Z-Image has the same names, and tokens that pad.
  EXPECT_TRUE(told.config({{"x_pad_token", {1, 8}},
                           {"cap_embedder.0.weight", {8}},
                           {"layers.0.attention.qkv.weight", {24, 8}}},
                          "components.transformer")
                  .is_null());
  EXPECT_THAT([&] { told.config(original_shapes(*tiny_lumina2()), "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 96")));
}

class Lumina2Lora : public ::testing::TestWithParam<const char*> {};

TEST_P(Lumina2Lora, ChangesWeightsAsTheReferenceDoes) {
  expect_changes_of_reference(*tiny_lumina2(), lumina2_case, GetParam(), 10);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Lumina2Lora, ::testing::Values("lora_diffusers", "lora_comfy"));

}  // namespace
}  // namespace omnirt::testing
