#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "networks/autoencoder_kl/model.hpp"
#include "networks/autoencoder_tiny/model.hpp"
#include "networks/clip_text_model/model.hpp"
#include "networks/clip_vision_model/model.hpp"
#include "networks/controlnet_model/model.hpp"
#include "networks/support.hpp"
#include "networks/t2i_adapter/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"

namespace omnirt::testing {
namespace {

using ::testing::Contains;
using ::testing::Field;

struct Refused {
  const nn::NetworkInfo& info;
  std::string key;
  Json value;
};

std::vector<Finding> findings_of(const nn::NetworkInfo& info, const Json& config) {
  try {
    info.make(config, "config.json");
  } catch (const Unsupported& error) {
    return error.findings();
  }
  return {};
}

// Values that the reference implements and this project does not, and values that no network has.
std::vector<Refused> refused() {
  const auto& unet = unet_2d_condition_model_info();
  const auto& kl = autoencoder_kl_info();
  const auto& tiny = autoencoder_tiny_info();
  const auto& clip = clip_text_model_info();
  const auto& controlnet = controlnet_model_info();
  const auto& t2i = t2i_adapter_info();
  const auto& vision = clip_vision_model_with_projection_info();
  auto four = [](const char* type) { return Json(std::vector<std::string>(4, type)); };
  int64_t huge = int64_t{1} << 60;
  return {
      {unet, "time_embedding_type", "fourier"},
      {unet, "class_embed_type", "timestep"},
      {unet, "num_class_embeds", 1000},
      {unet, "addition_embed_type", "image"},
      {unet, "encoder_hid_dim", 768},
      {unet, "encoder_hid_dim_type", "text_proj"},
      {unet, "attention_type", "gated"},
      {unet, "dual_cross_attention", true},
      {unet, "class_embeddings_concat", true},
      {unet, "num_attention_heads", 8},
      {unet, "reverse_transformer_layers_per_block", Json::array({Json::array({1})})},
      {unet, "resnet_time_scale_shift", "ada_group"},
      {unet, "act_fn", "mish"},
      {unet, "timestep_post_act", "mish"},
      {unet, "norm_num_groups", nullptr},
      {unet, "norm_num_groups", 7},
      {unet, "mid_block_type", "UNetMidBlock2DSimpleCrossAttn"},
      {unet, "down_block_types", four("AttnDownBlock2D")},
      {unet, "up_block_types", four("SimpleCrossAttnUpBlock2D")},
      {unet, "block_out_channels", Json::array({320, 640})},
      {unet, "block_out_channels", Json::array()},
      {unet, "block_out_channels", Json::array({320, -640, 1280, 1280})},
      {unet, "attention_head_dim", 0},
      {unet, "attention_head_dim", Json::array({8, 8})},
      {unet, "layers_per_block", huge},
      {unet, "transformer_layers_per_block", 0},
      {unet, "cross_attention_dim", -1},
      {unet, "in_channels", 0},
      {unet, "in_channels", "four"},
      {unet, "conv_in_kernel", 4},
      {unet, "norm_eps", 0.0},
      {unet, "sample_size", Json::array({64})},
      {unet, "a_key_of_the_future", 1},
      {kl, "latents_mean", Json::array({0.1})},
      {kl, "down_block_types", Json::array({"AttnDownEncoderBlock2D"})},
      {kl, "up_block_types", Json::array({"AttnUpDecoderBlock2D"})},
      {kl, "layers_per_block", 1000},
      {kl, "norm_num_groups", 0},
      {kl, "scaling_factor", -1.0},
      {kl, "scaling_factor", 1e-320},
      {kl, "scaling_factor", 1e300},
      {kl, "act_fn", "mish"},
      {tiny, "upsample_fn", "bilinear"},
      {tiny, "num_encoder_blocks", Json::array({1, 3})},
      {tiny, "decoder_block_out_channels", Json::array({64, 32, 64, 64})},
      {tiny, "latent_channels", huge},
      {clip, "hidden_act", "tanh"},
      {clip, "num_attention_heads", 7},
      {clip, "num_hidden_layers", huge},
      {clip, "use_attention_mask", true},
      {clip, "layer_norm_eps", -1.0},
      {vision, "hidden_act", "tanh"},
      {vision, "patch_size", 1000},
      {vision, "image_size", huge},
      {vision, "num_channels", 0},
      {controlnet, "addition_embed_type", "text"},
      {controlnet, "encoder_hid_dim_type", "text_proj"},
      {controlnet, "controlnet_conditioning_channel_order", "grb"},
      {controlnet, "conditioning_embedding_out_channels", Json::array()},
      {controlnet, "conditioning_channels", 0},
      {controlnet, "layers_per_block", Json::array({1, 2, 1, 2})},
      {controlnet, "act_fn", "mish"},
      {t2i, "adapter_type", "heavy_adapter"},
      {t2i, "channels", Json::array({320, huge})},
      {t2i, "downscale_factor", 0},
  };
}

TEST(NetworkConfig, RefusesByNameWhatIsNotImplemented) {
  for (const auto& [info, key, value] : refused()) {
    // The heads of CLIP are named by what they must divide.
    std::string named =
        key == "num_attention_heads" && info.class_name == "CLIPTextModel" ? "hidden_size" : key;
    if (info.class_name == "UNet2DConditionModel" && value == 7) named = "block_out_channels";
    if (info.class_name == "AutoencoderKL" && key == "norm_num_groups") named = "norm_num_groups";
    EXPECT_THAT(findings_of(info, {{key, value}}),
                Contains(Field(&Finding::field, "config.json." + named)))
        << info.class_name << " " << key << " " << value;
  }
}

TEST(NetworkConfig, TellsTheValueThatItRefuses) {
  auto findings =
      findings_of(unet_2d_condition_model_info(), {{"resnet_time_scale_shift", "ada_group"}});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].value, "ada_group");
  EXPECT_EQ(findings[0].way_out, "implemented: default, scale_shift");
}

TEST(NetworkConfig, TellsAWayOutWithEveryFinding) {
  for (const auto& [info, key, value] : refused()) {
    for (const Finding& finding : findings_of(info, {{key, value}}))
      EXPECT_NE(finding.way_out, "") << finding.text();
  }
}

TEST(NetworkConfig, TellsAllFindingsTogether) {
  Json config{{"act_fn", "mish"}, {"in_channels", 0}, {"norm_eps", -1.0}};
  EXPECT_EQ(findings_of(unet_2d_condition_model_info(), config).size(), 3u);
}

TEST(NetworkConfig, HasTheReferencesDefaults) {
  auto unet = make<UNet2DConditionModel>(unet_2d_condition_model_info());
  EXPECT_EQ(unet->in_channels(), 4);
  EXPECT_EQ(unet->context_dim(), 1280);
  EXPECT_EQ(unet->down_blocks.size(), 4u);
  EXPECT_EQ(unet->sample_size(), (std::array<int64_t, 2>{0, 0}));
  auto kl = make<AutoencoderKL>(autoencoder_kl_info());
  EXPECT_EQ(kl->factors().side, 1);
  EXPECT_EQ(kl->scaling_factor(), 0.18215);
  EXPECT_TRUE(kl->force_upcast());
  auto tiny = make<AutoencoderTiny>(autoencoder_tiny_info());
  EXPECT_EQ(tiny->factors().side, 8);
  EXPECT_EQ(tiny->latent_channels(), 4);
  auto clip = make<CLIPTextModel>(clip_text_model_info());
  EXPECT_EQ(clip->max_tokens(), 77);
  EXPECT_EQ(clip->num_layers(), 12);
}

TEST(UNet2DConditionModel, ReadsTheSampleSizeAsTheReferencesPipelinesDo) {
  using Size = std::array<int64_t, 2>;
  auto size = [](const Json& config) {
    return make<UNet2DConditionModel>(unet_2d_condition_model_info(), config)->sample_size();
  };
  EXPECT_EQ(size({{"sample_size", 16}}), (Size{16, 16}));
  EXPECT_EQ(size({{"sample_size", Json::array({24, 32})}}), (Size{24, 32}));
  EXPECT_EQ(size({{"sample_size", 32}, {"_diffusers_version", "0.6.0.dev0"}}), (Size{64, 64}));
  EXPECT_EQ(size({{"sample_size", 96}, {"_diffusers_version", "0.8.0"}}), (Size{96, 96}));
  EXPECT_EQ(size({{"sample_size", 32}, {"_diffusers_version", "0.10.0"}}), (Size{32, 32}));
}

TEST(UNet2DConditionModel, NamesItsInputs) {
  auto named = [](const Json& config) {
    auto unet = make<UNet2DConditionModel>(unet_2d_condition_model_info(), config);
    std::vector<std::string> names;
    for (const auto& input : unet->inputs()) names.push_back(input.name);
    return names;
  };
  EXPECT_THAT(named(Json::object()),
              ::testing::ElementsAre(
                  "sample", "timestep", "encoder_hidden_states", "entity_hidden_states",
                  "entity_weights", "down_block_additional_residuals",
                  "mid_block_additional_residual", "down_intrablock_additional_residuals",
                  "ip_adapter_keys", "ip_adapter_values", "ip_adapter_masks"));
  EXPECT_THAT(named({{"time_cond_proj_dim", 256}}), Contains("timestep_cond"));
  EXPECT_THAT(named({{"addition_embed_type", "text_time"},
                     {"addition_time_embed_dim", 256},
                     {"projection_class_embeddings_input_dim", 2816}}),
              ::testing::IsSupersetOf({"text_embeds", "time_ids"}));
}

}  // namespace
}  // namespace omnirt::testing
