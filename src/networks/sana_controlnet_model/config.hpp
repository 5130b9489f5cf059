#pragma once
#include <string>

#include "nn/sana_transformer_2d_config.hpp"

namespace omnirt {

// config.json of SanaControlNetModel; defaults are those of diffusers' class. What it shares with
// the transformer whose blocks it copies is read into that one's config.
struct SanaControlNetConfig {
  SanaTransformer2DConfig transformer;

  SanaControlNetConfig() { transformer.num_layers = 7; }

  static void visit(auto& self, auto& v) {
    auto& blocks = self.transformer;
    v("in_channels", blocks.in_channels);
    v("out_channels", blocks.out_channels);
    v("num_attention_heads", blocks.num_attention_heads);
    v("attention_head_dim", blocks.attention_head_dim);
    v("num_layers", blocks.num_layers);
    v("num_cross_attention_heads", blocks.num_cross_attention_heads);
    v("cross_attention_head_dim", blocks.cross_attention_head_dim);
    v("cross_attention_dim", blocks.cross_attention_dim);
    v("caption_channels", blocks.caption_channels);
    v("mlp_ratio", blocks.mlp_ratio);
    v("attention_bias", blocks.attention_bias);
    v("sample_size", blocks.sample_size);
    v("patch_size", blocks.patch_size);
    v("norm_elementwise_affine", blocks.norm_elementwise_affine);
    v("norm_eps", blocks.norm_eps);
    v("interpolation_scale", blocks.interpolation_scale);
    v.ignore({"dropout"});
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
SanaControlNetConfig read_sana_controlnet_config(const Json& json, const std::string& where);

}  // namespace omnirt
