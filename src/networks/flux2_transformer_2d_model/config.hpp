#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of Flux2Transformer2DModel; defaults are those of diffusers' class.
struct Flux2Transformer2DConfig {
  int64_t patch_size = 1;
  int64_t in_channels = 128;
  std::optional<int64_t> out_channels;
  int64_t num_layers = 8;
  int64_t num_single_layers = 48;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 48;
  int64_t joint_attention_dim = 15360;
  int64_t timestep_guidance_channels = 256;
  double mlp_ratio = 3.0;
  std::vector<int64_t> axes_dims_rope{32, 32, 32, 32};
  double rope_theta = 2000;
  double eps = 1e-6;
  bool guidance_embeds = true;

  static void visit(auto& self, auto& v) {
    v("patch_size", self.patch_size);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("num_layers", self.num_layers);
    v("num_single_layers", self.num_single_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("joint_attention_dim", self.joint_attention_dim);
    v("timestep_guidance_channels", self.timestep_guidance_channels);
    v("mlp_ratio", self.mlp_ratio);
    v("axes_dims_rope", self.axes_dims_rope);
    v("rope_theta", self.rope_theta);
    v("eps", self.eps);
    v("guidance_embeds", self.guidance_embeds);
    v.only("quantization_config", {});
  }

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  int64_t mlp_dim() const {
    return static_cast<int64_t>(static_cast<double>(inner_dim()) * mlp_ratio);
  }
  // Channels that a token's prediction has; latents come in patches already, so that the reference
  // counts a patch's area in the prediction alone.
  int64_t predicted_channels() const {
    return patch_size * patch_size * out_channels.value_or(in_channels);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Flux2Transformer2DConfig read_flux2_transformer_2d_config(const Json& json,
                                                          const std::string& where);

}  // namespace omnirt
