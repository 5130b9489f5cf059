#include "nn/flux_transformer_2d_config.hpp"

namespace omnirt {
namespace {

// Positions have three axes: which image, row, and column.
constexpr size_t flux_position_axes = 3;

}  // namespace

void check_flux_transformer_2d_config(const FluxTransformer2DConfig& config,
                                      nn::ConfigCheck& check) {
  check.range("patch_size", config.patch_size, 1, 64);
  check.range("in_channels", config.in_channels, 1, 1 << 14);
  check.range("out_channels", config.out_channels.value_or(1), 1, 1 << 14);
  check.range("num_layers", config.num_layers, 0, 512);
  check.range("num_single_layers", config.num_single_layers, 0, 512);
  check.range("attention_head_dim", config.attention_head_dim, 1, 1 << 10);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 10);
  check.range("joint_attention_dim", config.joint_attention_dim, 1, 1 << 17);
  check.range("pooled_projection_dim", config.pooled_projection_dim, 1, 1 << 17);
  const char* squares = "2x2 latents a token";
  check.divisible("in_channels", config.in_channels, squares, config.latents_of_a_token);
  if (check.ok())
    check.divisible("out_channels", config.predicted_channels(), squares,
                    config.latents_of_a_token);
  check.rotary_axes("axes_dims_rope", config.axes_dims_rope, flux_position_axes, 2,
                    config.attention_head_dim);
}

FluxTransformer2DConfig read_flux_transformer_2d_config(const Json& json,
                                                        const std::string& where) {
  auto config = read_config<FluxTransformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check_flux_transformer_2d_config(config, check);
  check.finish();
  return config;
}

}  // namespace omnirt
