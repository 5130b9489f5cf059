#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/config_check.hpp"

namespace omnirt {

// config.json of FluxTransformer2DModel; defaults are those of diffusers' class.
struct FluxTransformer2DConfig {
  int64_t patch_size = 1;
  int64_t in_channels = 64;
  std::optional<int64_t> out_channels;
  int64_t num_layers = 19;
  int64_t num_single_layers = 38;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 24;
  int64_t joint_attention_dim = 4096;
  int64_t pooled_projection_dim = 768;
  bool guidance_embeds = false;
  std::vector<int64_t> axes_dims_rope{16, 56, 56};

  static void visit(auto& self, auto& v) {
    v("patch_size", self.patch_size);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("num_layers", self.num_layers);
    v("num_single_layers", self.num_single_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("joint_attention_dim", self.joint_attention_dim);
    v("pooled_projection_dim", self.pooled_projection_dim);
    v("guidance_embeds", self.guidance_embeds);
    v("axes_dims_rope", self.axes_dims_rope);
    v.only("quantization_config", {});
  }

  // What the reference's pipelines make a token of: 2x2 latents.
  static constexpr int64_t latents_of_a_token = 4;
  // The same whatever a config says.
  static constexpr int64_t mlp_ratio = 4;
  static constexpr double eps = 1e-6, rope_theta = 10000;

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  // Of a token's prediction.
  int64_t predicted_channels() const {
    return patch_size * patch_size * out_channels.value_or(in_channels);
  }
};

void check_flux_transformer_2d_config(const FluxTransformer2DConfig& config,
                                      nn::ConfigCheck& check);
// Reads and checks. Throws Unsupported with all findings; `where` is the file.
FluxTransformer2DConfig read_flux_transformer_2d_config(const Json& json, const std::string& where);

}  // namespace omnirt
