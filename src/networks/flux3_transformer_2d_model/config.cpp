#include "networks/flux3_transformer_2d_model/config.hpp"

#include <fmt/format.h>

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

// Positions have four axes: time, row, column, and place in the text or among the images.
constexpr size_t flux3_position_axes = 4;

}  // namespace

Flux3Transformer2DConfig read_flux3_transformer_2d_config(const Json& json,
                                                          const std::string& where) {
  auto config = read_config<Flux3Transformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 14);
  check.range("cond_in_channels", config.cond_in_channels, 1, 1 << 14);
  check.range("num_layers", config.num_layers, 0, 512);
  check.range("num_single_layers", config.num_single_layers, 0, 512);
  check.range("attention_head_dim", config.attention_head_dim, 1, 1 << 10);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 10);
  check.range("joint_attention_dim", config.joint_attention_dim, 1, 1 << 17);
  check.range("timestep_channels", config.timestep_channels, 2, 1 << 14);
  check.divisible("timestep_channels", config.timestep_channels, "sines and cosines", 2);
  check.positive("mlp_ratio", config.mlp_ratio);
  check.expect(config.mlp_ratio <= 64, "mlp_ratio", fmt::format("{}", config.mlp_ratio),
               "more than 64");
  check.positive("rope_theta", config.rope_theta);
  check.positive("eps", config.eps);
  check.rotary_axes("axes_dims_rope", config.axes_dims_rope, flux3_position_axes, 0,
                    config.attention_head_dim);
  if (check.ok()) check.range("mlp_ratio", config.mlp_dim(), 1, 1 << 24);
  check.finish();
  return config;
}

}  // namespace omnirt
