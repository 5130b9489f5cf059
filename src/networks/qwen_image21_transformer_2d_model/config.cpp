#include "networks/qwen_image21_transformer_2d_model/config.hpp"

#include "nn/config_check.hpp"

namespace omnirt {

QwenImage21Transformer2DConfig read_qwen_image21_transformer_2d_config(const Json& json,
                                                                       const std::string& where) {
  auto config = read_config<QwenImage21Transformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 14);
  check.range("out_channels", config.predicted_channels(), 1, 1 << 14);
  check.range("num_layers", config.num_layers, 1, 256);
  check.range("attention_head_dim", config.attention_head_dim, 2, 1 << 12);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 12);
  check.range("context_in_dim", config.context_in_dim, 1, 1 << 16);
  check.range("mlp_ratio", config.mlp_ratio, 1, 16);
  check.positive("eps", config.eps);
  if (check.ok()) check.range("num_attention_heads", config.inner_dim(), 1, 1 << 16);
  check.rotary_axes("axes_dims_rope", config.axes_dims_rope, 3, 2, config.attention_head_dim);
  check.finish();
  return config;
}

}  // namespace omnirt
