// Sana's transformer, its LoRAs, its autoencoder and their original layouts against diffusers, over
// tiny random checkpoints (tools/goldens/sana.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/autoencoder_dc/model.hpp"
#include "networks/denoiser_goldens.hpp"
#include "networks/originals.hpp"
#include "networks/sana_transformer_2d_model/model.hpp"
#include "networks/support.hpp"

namespace omnirt::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr const char* sana_case = "tests/goldens/networks/sana_transformer";
// fp32 on both sides; what is left comes from the order of additions.
constexpr double sana_tolerance = 1e-5;

std::unique_ptr<nn::Network> tiny_sana() {
  return make_network(read_json(source_path(sana_case) / "config.json"));
}

TEST(SanaTransformer2DModel, GivesTheReferencesPrediction) {
  for (const std::string& name : cases("sana_transformer")) {
    for (bool channels_last : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      for (const std::string& file : files(name, "golden")) {
        SCOPED_TRACE(name + "/" + file);
        Tensors tensors = golden(name, file);
        Context cx = loaded.context();
        // The rare options' predicts a variance, too.
        const Tensor noise = tensors.at("out.sample").narrow(1, 0, 8);
        EXPECT_LT(difference(prediction_of(cx, loaded, tensors), noise), sana_tolerance);
        expect_same_prediction_when_dry(loaded, tensors);
      }
    }
  }
}

TEST(SanaTransformer2DModel, RefusesWhatItCannotMake) {
  auto refused = [](const Json& config) {
    return [config] { make<SanaTransformer2DModel>(sana_transformer_2d_model_info(), config); };
  };
  EXPECT_THAT(refused({{"cross_attention_dim", 1152}}),
              ThrowsMessage<Unsupported>(HasSubstr("cross_attention_dim")));
  EXPECT_THAT(refused({{"qk_norm", "rms_norm"}}),
              ThrowsMessage<Unsupported>(HasSubstr("rms_norm_across_heads")));
  EXPECT_THAT(refused({{"mlp_ratio", 1e9}}), ThrowsMessage<Unsupported>(HasSubstr("mlp_ratio")));
  EXPECT_THAT(refused({{"guidance_embeds_scale", 0}}),
              ThrowsMessage<Unsupported>(HasSubstr("guidance_embeds_scale")));
  EXPECT_THAT(refused({{"no_such_key", 1}}), ThrowsMessage<Unsupported>(HasSubstr("no_such_key")));
}

TEST(SanaOriginals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original(sana_case);
  expect_weights_of_folder(original);
}

TEST(SanaOriginals, TellThePublishedModelsConfigs) {
  const nn::FromTensors& told = sana_transformer_2d_model_info().from_tensors;
  for (const char* model : {"sana-1600m", "sana1.5-4.8b"}) {
    auto network = make_network(
        read_json(source_path("tests/data/configs") / model / "transformer" / "config.json"));
    Shapes shapes = original_shapes(*network);
    shapes["pos_embed"] = {1, 32 * 32, 2240};
    const Json config = told.config(shapes, "components.transformer");
    EXPECT_EQ(config["sample_size"], 32) << model;
    expect_same_parameters(*make_network(config), *network);
  }
  EXPECT_THAT([&] { told.config(original_shapes(*tiny_sana()), "components.transformer"); },
              ThrowsMessage<Unsupported>(HasSubstr("no released Sana")));
}

// Sana-Sprint's, whose guidance scale is an input; what its training alone used is left out.
TEST(SanaSprintOriginals, HoldTheSameWeightsAsAFolder) {
  OriginalFile original("tests/goldens/networks/sana_transformer_sprint");
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
}

TEST(SanaSprintOriginals, TellThatTheGuidanceScaleIsAnInput) {
  const nn::FromTensors& told = sana_transformer_2d_model_info().from_tensors;
  auto network = make_network({{"_class_name", "SanaTransformer2DModel"},
                               {"qk_norm", "rms_norm_across_heads"},
                               {"guidance_embeds", true}});
  const Json config = told.config(original_shapes(*network), "components.transformer");
  EXPECT_EQ(config["guidance_embeds"], true);
  EXPECT_EQ(config["qk_norm"], "rms_norm_across_heads");
  expect_same_parameters(*make_network(config), *network);
}

TEST(SanaLora, ChangesWeightsAsTheReferenceDoes) {
  expect_changes_of_reference(*tiny_sana(), sana_case, "lora_diffusers", 12);
}

void expect_dc(const LoadedNetwork& loaded, const Tensors& tensors) {
  const auto& vae = loaded.as<AutoencoderDC>();
  Context cx = loaded.context(), dry = loaded.context({.dry = true});
  EXPECT_LT(difference(vae.decode(cx, tensors.at("in.latents")), tensors.at("out.image")),
            sana_tolerance);
  EXPECT_LT(difference(vae.encode(cx, tensors.at("in.image"), nullptr), tensors.at("out.latents")),
            sana_tolerance);
  EXPECT_EQ(vae.decode(dry, tensors.at("in.latents")).sizes(), tensors.at("out.image").sizes());
  EXPECT_EQ(vae.encode(dry, tensors.at("in.image"), nullptr).sizes(),
            tensors.at("out.latents").sizes());
}

TEST(AutoencoderDC, GivesTheReferencesLatentsAndImages) {
  for (const std::string& name : cases("autoencoder_dc")) {
    for (bool channels_last : {false, true}) {
      LoadedNetwork loaded = load_case(name, {at::kFloat, channels_last});
      for (const std::string& file : files(name, "golden")) {
        SCOPED_TRACE(name + "/" + file + (channels_last ? ", channels-last" : ""));
        expect_dc(loaded, golden(name, file));
      }
    }
  }
}

TEST(AutoencoderDCOriginals, HoldTheSameWeightsAsAFolderAndAreWrittenAsTheyWereRead) {
  OriginalFile original("tests/goldens/networks/autoencoder_dc");
  EXPECT_EQ(original.store->all().size(), expect_weights_of_folder(original).size());
  expect_written_as_read(original);
}

TEST(AutoencoderDCOriginals, TellTheConfig) {
  const nn::FromTensors& told = autoencoder_dc_info().from_tensors;
  for (const char* folder :
       {"tests/data/configs/sana-1600m/vae", "tests/goldens/networks/autoencoder_dc"}) {
    const Json config = read_json(source_path(folder) / "config.json");
    auto network = make_network(config);
    const Json made = told.config(original_shapes(*network), "components.vae");
    expect_same_parameters(*make_network(made), *network);
    for (const auto& [key, value] : made.items()) {
      const Json& wanted = config.contains(key) ? config[key] : value;
      EXPECT_EQ(value, wanted) << folder << ": " << key;
    }
  }
}

// What no released autoencoder has: other ways between two levels, and no shortcuts at the ends.
TEST(AutoencoderDCOriginals, TellWaysBetweenLevelsAndShortcuts) {
  const nn::FromTensors& told = autoencoder_dc_info().from_tensors;
  auto network = make_network(
      read_json(source_path("tests/goldens/networks/autoencoder_dc_rare_options/config.json")));
  const Json made = told.config(original_shapes(*network), "components.vae");
  EXPECT_EQ(made["upsample_block_type"], "pixel_shuffle");
  EXPECT_EQ(made["downsample_block_type"], "pixel_unshuffle");
  EXPECT_EQ(made["encoder_out_shortcut"], false);
  EXPECT_EQ(made["decoder_in_shortcut"], false);
  EXPECT_EQ(made["encoder_qkv_multiscales"], Json::parse("[[], [3, 5], []]"));
  expect_same_parameters(*make_network(made), *network);
}

TEST(AutoencoderDCOriginals, AreRefusedWhereTheFinestLevelHasNoLayers) {
  const nn::FromTensors& told = autoencoder_dc_info().from_tensors;
  Shapes shapes{{"encoder.project_in.conv.conv.weight", {64, 3, 3, 3}},
                {"decoder.stages.1.op_list.0.main.conv.conv.bias", {1024}}};
  EXPECT_THAT([&] { told.config(shapes, "components.vae"); },
              ThrowsMessage<Unsupported>(HasSubstr("finest level has no layers")));
  EXPECT_TRUE(told.config({{"encoder.conv_in.weight", {8, 3, 3, 3}}}, "components.vae").is_null());
}

TEST(AutoencoderDC, HasThirtyTwoPixelsALatentAndRefusesWhatItCannotMake) {
  auto vae = make<AutoencoderDC>(autoencoder_dc_info());
  EXPECT_EQ(vae->latent_channels(), 32);
  EXPECT_EQ(vae->factors().side, 32);
  EXPECT_FALSE(vae->samples());
  auto refused = [](const Json& config) {
    return [config] { make<AutoencoderDC>(autoencoder_dc_info(), config); };
  };
  EXPECT_THAT(refused({{"decoder_norm_types", "batch_norm"}}),
              ThrowsMessage<Unsupported>(HasSubstr("batch_norm")));
  EXPECT_THAT(refused({{"encoder_layers_per_block", {0, 4, 8, 2, 2, 2}}}),
              ThrowsMessage<Unsupported>(HasSubstr("encoder_layers_per_block")));
  EXPECT_THAT(refused({{"decoder_block_types", "ViTBlock"}}),
              ThrowsMessage<Unsupported>(HasSubstr("ViTBlock")));
  EXPECT_THAT(refused({{"latent_channels", 33}}),
              ThrowsMessage<Unsupported>(HasSubstr("latent_channels")));
  EXPECT_THAT(refused({{"encoder_qkv_multiscales", Json::parse("[[], [], [], [4], [5], [5]]")}}),
              ThrowsMessage<Unsupported>(HasSubstr("odd")));
  EXPECT_THAT(refused({{"decoder_block_out_channels", {128, 256}}}),
              ThrowsMessage<Unsupported>(HasSubstr("decoder_block_out_channels")));
  EXPECT_THAT(refused({{"temporal", 1}}), ThrowsMessage<Unsupported>(HasSubstr("temporal")));
}

}  // namespace
}  // namespace omnirt::testing
