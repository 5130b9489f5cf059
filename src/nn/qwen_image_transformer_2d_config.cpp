#include "nn/qwen_image_transformer_2d_config.hpp"

namespace omnirt {
namespace {

// Positions have three axes: image of the sequence, row, column.
constexpr size_t qwen_image_axes = 3;

}  // namespace

void check_qwen_image_transformer_2d_config(const QwenImageTransformer2DConfig& config,
                                            nn::ConfigCheck& check) {
  check.range("patch_size", config.patch_size, 1, 16);
  check.range("in_channels", config.in_channels, 1, 1 << 14);
  check.range("out_channels", config.out_channels.value_or(1), 1, 1 << 14);
  check.range("num_layers", config.num_layers, 0, 512);
  check.range("attention_head_dim", config.attention_head_dim, 1, 1 << 10);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 10);
  check.range("joint_attention_dim", config.joint_attention_dim, 1, 1 << 17);
  check.rotary_axes("axes_dims_rope", config.axes_dims_rope, qwen_image_axes, 2,
                    config.attention_head_dim);
  if (check.ok())
    check.divisible("in_channels", config.in_channels, "patch_size squared", config.patch_area());
}

QwenImageTransformer2DConfig read_qwen_image_transformer_2d_config(const Json& json,
                                                                   const std::string& where) {
  auto config = read_config<QwenImageTransformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check_qwen_image_transformer_2d_config(config, check);
  check.finish();
  return config;
}

}  // namespace omnirt
