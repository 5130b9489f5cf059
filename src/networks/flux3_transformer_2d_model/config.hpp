#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of Flux3Transformer2DModel; defaults are those of diffusers' class.
struct Flux3Transformer2DConfig {
  int64_t in_channels = 128;
  int64_t cond_in_channels = 128;
  int64_t num_layers = 5;
  int64_t num_single_layers = 28;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 24;
  int64_t joint_attention_dim = 20480;
  int64_t timestep_channels = 256;
  double mlp_ratio = 3.0;
  std::vector<int64_t> axes_dims_rope{32, 32, 32, 32};
  double rope_theta = 10000;
  double eps = 1e-6;
  bool flow_map = false;

  static void visit(auto& self, auto& v) {
    v("in_channels", self.in_channels);
    v("cond_in_channels", self.cond_in_channels);
    v("num_layers", self.num_layers);
    v("num_single_layers", self.num_single_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("joint_attention_dim", self.joint_attention_dim);
    v("timestep_channels", self.timestep_channels);
    v("mlp_ratio", self.mlp_ratio);
    v("axes_dims_rope", self.axes_dims_rope);
    v("rope_theta", self.rope_theta);
    v("eps", self.eps);
    v("flow_map", self.flow_map);
    v.only("quantization_config", {});
  }

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  int64_t mlp_dim() const {
    return static_cast<int64_t>(static_cast<double>(inner_dim()) * mlp_ratio);
  }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Flux3Transformer2DConfig read_flux3_transformer_2d_config(const Json& json,
                                                          const std::string& where);

}  // namespace omnirt
