#pragma once
#include <optional>
#include <string>
#include <vector>

#include "nn/unet_2d_config.hpp"

namespace omnirt {

// config.json of ControlNetModel; defaults are those of the class in diffusers. What it shares with
// the UNet whose down path it copies is read into that one's config.
struct ControlNetConfig {
  UNet2DConditionConfig unet;
  std::string mid_block_type = "UNetMidBlock2DCrossAttn";
  std::optional<nn::PerLevel<int64_t>> num_attention_heads;  // in place of attention_head_dim
  int64_t conditioning_channels = 3;
  std::string controlnet_conditioning_channel_order = "rgb";
  std::vector<int64_t> conditioning_embedding_out_channels{16, 32, 96, 256};
  bool global_pool_conditions = false;

  static void visit(auto& self, auto& v) {
    auto& unet = self.unet;
    v("in_channels", unet.in_channels);
    v("flip_sin_to_cos", unet.flip_sin_to_cos);
    v("freq_shift", unet.freq_shift);
    v("down_block_types", unet.down_block_types);
    v("only_cross_attention", unet.only_cross_attention);
    v("block_out_channels", unet.block_out_channels);
    v("layers_per_block", unet.layers_per_block);
    v("downsample_padding", unet.downsample_padding);
    v("mid_block_scale_factor", unet.mid_block_scale_factor);
    v("act_fn", unet.act_fn);
    v("norm_num_groups", unet.norm_num_groups);
    v("norm_eps", unet.norm_eps);
    v("cross_attention_dim", unet.cross_attention_dim);
    v("transformer_layers_per_block", unet.transformer_layers_per_block);
    v("attention_head_dim", unet.attention_head_dim);
    v("use_linear_projection", unet.use_linear_projection);
    v("upcast_attention", unet.upcast_attention);
    v("resnet_time_scale_shift", unet.resnet_time_scale_shift);
    v("addition_embed_type", unet.addition_embed_type);
    v("addition_time_embed_dim", unet.addition_time_embed_dim);
    v("projection_class_embeddings_input_dim", unet.projection_class_embeddings_input_dim);
    v("mid_block_type", self.mid_block_type);
    v("num_attention_heads", self.num_attention_heads);
    v("conditioning_channels", self.conditioning_channels);
    v("controlnet_conditioning_channel_order", self.controlnet_conditioning_channel_order);
    v("conditioning_embedding_out_channels", self.conditioning_embedding_out_channels);
    v("global_pool_conditions", self.global_pool_conditions);
    v.only("encoder_hid_dim", {});
    v.only("encoder_hid_dim_type", {});
    v.only("class_embed_type", {});
    v.only("num_class_embeds", {});
    v.only("quantization_config", {});
    v.ignore({"addition_embed_type_num_heads"});  // of another kind of embedding
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
ControlNetConfig read_controlnet_config(const Json& json, const std::string& where);

}  // namespace omnirt
