// FLUX.2's original layout and its LoRAs against diffusers (tools/goldens/flux2_originals.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/autoencoder_kl_flux2/model.hpp"
#include "networks/flux2_transformer_2d_model/model.hpp"
#include "networks/originals.hpp"
#include "source_paths.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* golden_case = "tests/goldens/networks/flux2_transformer_guidance";

TEST(Flux2Originals, HoldTheSameWeightsAsAFolder) {
  OriginalFile original(golden_case);
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
}

TEST(Flux2Originals, AreWrittenAsTheyWereRead) {
  expect_written_as_read(OriginalFile(golden_case));
}

TEST(Flux2Originals, AreKnownByNamesAndRefusedWhereShapesDoNotTellTheHeads) {
  const nn::FromTensors& told = flux2_transformer_2d_model_info().from_tensors;
  EXPECT_TRUE(told.config({{"img_in.weight", {8, 4}}}, "components.transformer").is_null());
  auto shapes = shapes_in(read_tensors(source_path(golden_case) / "original.safetensors"));
  EXPECT_THAT([&] { told.config(shapes, "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("another width than 128")));
}

// The config of a published model, inferred from what its file in the original layout holds.
TEST(Flux2Originals, OfStockModelsHaveTheirConfigs) {
  for (const char* model : {"flux2-klein-4b", "flux2-klein-9b", "flux2-dev"}) {
    SCOPED_TRACE(model);
    Json config = read_json(source_path("tests/data/configs") / model / "transformer/config.json");
    auto network = make_network(config);
    const nn::FromTensors& told = flux2_transformer_2d_model_info().from_tensors;
    Json made = told.config(original_shapes(*network), "components.transformer");
    ASSERT_FALSE(made.is_null());
    auto same = make_network(made);
    expect_same_parameters(*same, *network);
    EXPECT_EQ(dynamic_cast<nn::DenoiserNetwork&>(*same).takes_guidance_scale(),
              dynamic_cast<nn::DenoiserNetwork&>(*network).takes_guidance_scale());
  }
}

constexpr const char* vae_case = "tests/goldens/networks/flux2_vae";

TEST(Flux2Originals, HoldTheSameAutoencoderAsAFolder) {
  expect_weights_of_folder(OriginalFile(vae_case));
}

// Inferred from names and shapes, of autoencoders with the original's groups of 32 channels.
TEST(Flux2Originals, OfAutoencodersTellTheirConfigs) {
  const nn::FromTensors& told = autoencoder_kl_flux2_info().from_tensors;
  for (const Json& changes :
       {Json::object(), Json{{"decoder_block_out_channels", {64, 96, 96, 128}},
                             {"use_quant_conv", false},
                             {"mid_block_add_attention", false}}}) {
    SCOPED_TRACE(changes.dump());
    Json config = {{"_class_name", "AutoencoderKLFlux2"}};
    config.update(changes);
    auto network = make_network(config);
    auto same = make_network(told.config(original_shapes(*network), "components.vae"));
    expect_same_parameters(*same, *network);
  }
}

TEST(Flux2Originals, OfAutoencodersAreRefusedWhereShapesDoNotTellTheGroups) {
  const nn::FromTensors& told = autoencoder_kl_flux2_info().from_tensors;
  EXPECT_TRUE(told.config({{"encoder.conv_in.weight", {8, 3, 3, 3}}}, "components.vae").is_null());
  auto shapes = shapes_in(read_tensors(source_path(vae_case) / "original.safetensors"));
  EXPECT_THAT([&] { told.config(shapes, "components.vae"); },
              ThrowsMessage<Unsupported>(HasSubstr("groups of 32")));
}

class Flux2Lora : public ::testing::TestWithParam<const char*> {};

TEST_P(Flux2Lora, ChangesWeightsAsTheReferenceDoes) {
  auto network = make_network(read_json(source_path(golden_case) / "config.json"));
  expect_changes_of_reference(*network, golden_case, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Layouts, Flux2Lora,
                         ::testing::Values("lora_diffusers", "lora_ai_toolkit", "lora_expanded",
                                           "lora_kohya"));
INSTANTIATE_TEST_SUITE_P(KroneckerProducts, Flux2Lora,
                         ::testing::Values("lokr_original", "lokr_lycoris"));

}  // namespace
}  // namespace omnirt::testing
