#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/config.hpp"
#include "nn/config_check.hpp"

namespace omnirt {

// config.json of SanaTransformer2DModel; defaults are those of diffusers' class.
struct SanaTransformer2DConfig {
  int64_t in_channels = 32;
  std::optional<int64_t> out_channels = 32;
  int64_t num_attention_heads = 70;
  int64_t attention_head_dim = 32;
  int64_t num_layers = 20;
  int64_t num_cross_attention_heads = 20;
  int64_t cross_attention_head_dim = 112;
  int64_t cross_attention_dim = 2240;
  int64_t caption_channels = 2304;
  double mlp_ratio = 2.5;
  bool attention_bias = false;
  int64_t sample_size = 32;
  int64_t patch_size = 1;
  bool norm_elementwise_affine = false;
  double norm_eps = 1e-6;
  std::optional<double> interpolation_scale;
  std::optional<std::string> qk_norm;
  double timestep_scale = 1.0;
  bool guidance_embeds = false;  // the guidance scale is an input: Sana-Sprint's
  double guidance_embeds_scale = 0.1;

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("num_attention_heads", self.num_attention_heads);
    v("attention_head_dim", self.attention_head_dim);
    v("num_layers", self.num_layers);
    v("num_cross_attention_heads", self.num_cross_attention_heads);
    v("cross_attention_head_dim", self.cross_attention_head_dim);
    v("cross_attention_dim", self.cross_attention_dim);
    v("caption_channels", self.caption_channels);
    v("mlp_ratio", self.mlp_ratio);
    v("attention_bias", self.attention_bias);
    v("sample_size", self.sample_size);
    v("patch_size", self.patch_size);
    v("norm_elementwise_affine", self.norm_elementwise_affine);
    v("norm_eps", self.norm_eps);
    v("interpolation_scale", self.interpolation_scale);
    v("qk_norm", self.qk_norm);
    v("timestep_scale", self.timestep_scale);
    v("guidance_embeds", self.guidance_embeds);
    v("guidance_embeds_scale", self.guidance_embeds_scale);
    v.ignore({"dropout"});
  }

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  int64_t hidden_dim() const {
    return static_cast<int64_t>(mlp_ratio * static_cast<double>(inner_dim()));
  }
  // Channels of the prediction: twice the latents' where the network predicts a variance too.
  int64_t predicted_channels() const { return out_channels.value_or(in_channels); }
};

// Finds what is wrong with it.
void check_sana_transformer_2d_config(const SanaTransformer2DConfig& config,
                                      nn::ConfigCheck& check);
// Reads and checks. Throws Unsupported with all findings; `where` is the file.
SanaTransformer2DConfig read_sana_transformer_2d_config(const Json& json, const std::string& where);

}  // namespace omnirt
