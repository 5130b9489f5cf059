#include "networks/lumina2_transformer_2d_model/config.hpp"

#include <fmt/format.h>

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

// Positions have three axes: place in the text, row, column.
constexpr size_t lumina2_axes = 3;

void check_lumina2_sizes(const Lumina2Transformer2DConfig& config, nn::ConfigCheck& check) {
  check.range("sample_size", config.sample_size, 1, 1 << 12);
  check.range("patch_size", config.patch_size, 1, 64);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.channels_out(), 1, 1 << 12);
  check.range("hidden_size", config.hidden_size, 1, 1 << 16);
  check.range("num_layers", config.num_layers, 0, 512);
  check.range("num_refiner_layers", config.num_refiner_layers, 0, 512);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 10);
  check.range("num_kv_heads", config.kv_heads(), 1, 1 << 10);
  check.range("multiple_of", config.multiple_of, 1, 1 << 18);
  check.range("cap_feat_dim", config.cap_feat_dim, 1, 1 << 17);
  check.positive("norm_eps", config.norm_eps);
  constexpr double most_widening = 64;
  const double widening = config.ffn_dim_multiplier.value_or(1.0);
  check.expect(widening > 0 && widening <= most_widening, "ffn_dim_multiplier",
               fmt::format("{}", widening), fmt::format("not above 0 and up to {}", most_widening));
}

}  // namespace

int64_t Lumina2Transformer2DConfig::feed_forward_dim() const {
  auto wide = static_cast<double>(4 * hidden_size);
  auto width = static_cast<int64_t>(ffn_dim_multiplier.value_or(1.0) * wide);
  return (width + multiple_of - 1) / multiple_of * multiple_of;
}

Lumina2Transformer2DConfig read_lumina2_transformer_2d_config(const Json& json,
                                                              const std::string& where) {
  auto config = read_config<Lumina2Transformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check_lumina2_sizes(config, check);
  if (check.ok()) {
    check.divisible("hidden_size", config.hidden_size, "num_attention_heads",
                    config.num_attention_heads);
    check.divisible("num_attention_heads", config.num_attention_heads, "num_kv_heads",
                    config.kv_heads());
  }
  check.expect(config.axes_lens.size() == lumina2_axes, "axes_lens",
               fmt::format("{} values", config.axes_lens.size()),
               fmt::format("tokens have positions on {} axes", lumina2_axes));
  for (int64_t length : config.axes_lens) check.range("axes_lens", length, 2, 1 << 20);
  // A head's width is of sizes that were found right.
  if (check.ok())
    check.rotary_axes("axes_dim_rope", config.axes_dim_rope, lumina2_axes, 2, config.head_dim());
  check.finish();
  return config;
}

}  // namespace omnirt
