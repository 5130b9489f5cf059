#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of QwenImage21Transformer2DModel; defaults are those of diffusers' class.
struct QwenImage21Transformer2DConfig {
  int64_t in_channels = 64;
  std::optional<int64_t> out_channels = 64;  // null: as many as in
  int64_t num_layers = 32;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 32;
  int64_t context_in_dim = 4096;
  int64_t mlp_ratio = 3;
  std::vector<int64_t> axes_dims_rope{16, 56, 56};
  double eps = 1e-6;
  bool causal_condition = true;  // what comes before the image is of no timestep

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("num_layers", self.num_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("context_in_dim", self.context_in_dim);
    v("mlp_ratio", self.mlp_ratio);
    v("axes_dims_rope", self.axes_dims_rope);
    v("eps", self.eps);
    v("causal_condition", self.causal_condition);
    v.only("patch_size", {1});
    v.only("quantization_config", {});
  }

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  int64_t predicted_channels() const { return out_channels.value_or(in_channels); }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
QwenImage21Transformer2DConfig read_qwen_image21_transformer_2d_config(const Json& json,
                                                                       const std::string& where);

}  // namespace omnirt
