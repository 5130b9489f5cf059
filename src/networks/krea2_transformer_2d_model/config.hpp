#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of Krea2Transformer2DModel; defaults are those of diffusers' class.
struct Krea2Transformer2DConfig {
  int64_t in_channels = 64;
  int64_t num_layers = 28;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 48;
  int64_t num_key_value_heads = 12;
  int64_t intermediate_size = 16384;
  int64_t timestep_embed_dim = 256;
  int64_t text_hidden_dim = 2560;
  int64_t num_text_layers = 12;
  int64_t text_num_attention_heads = 20;
  int64_t text_num_key_value_heads = 20;
  int64_t text_intermediate_size = 6912;
  int64_t num_layerwise_text_blocks = 2;
  int64_t num_refiner_text_blocks = 2;
  std::vector<int64_t> axes_dims_rope{32, 48, 48};
  double rope_theta = 1000.0;
  double norm_eps = 1e-5;

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("num_layers", self.num_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("num_key_value_heads", self.num_key_value_heads);
    v("intermediate_size", self.intermediate_size);
    v("timestep_embed_dim", self.timestep_embed_dim);
    v("text_hidden_dim", self.text_hidden_dim);
    v("num_text_layers", self.num_text_layers);
    v("text_num_attention_heads", self.text_num_attention_heads);
    v("text_num_key_value_heads", self.text_num_key_value_heads);
    v("text_intermediate_size", self.text_intermediate_size);
    v("num_layerwise_text_blocks", self.num_layerwise_text_blocks);
    v("num_refiner_text_blocks", self.num_refiner_text_blocks);
    v("axes_dims_rope", self.axes_dims_rope);
    v("rope_theta", self.rope_theta);
    v("norm_eps", self.norm_eps);
    v.only("quantization_config", {});
  }

  static constexpr int64_t patch_side = 2;  // latents of a token, in height and in width
  static constexpr int64_t latents_of_a_token = patch_side * patch_side;
  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Krea2Transformer2DConfig read_krea2_transformer_2d_config(const Json& json,
                                                          const std::string& where);

}  // namespace omnirt
