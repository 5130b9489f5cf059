#include "networks/autoencoder_tiny/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/config_check.hpp"
#include "weights/tensor_shapes.hpp"

namespace omnirt {
namespace {

void check_levels(const std::string& side, const std::vector<int64_t>& channels,
                  const std::vector<int64_t>& blocks, nn::ConfigCheck& check) {
  std::string width = side + "_block_out_channels", depth = "num_" + side + "_blocks";
  check.length(width, channels.size(), 8);
  check.expect(channels.size() == blocks.size(), depth, fmt::format("{} values", blocks.size()),
               fmt::format("{} has {}", width, channels.size()));
  for (int64_t count : blocks) check.range(depth, count, 0, 64);
  for (int64_t count : channels) {
    check.range(width, count, 1, 1 << 16);
    // A level's convolutions take and return the same number, so a change would not fit.
    check.expect(count == channels.front(), width, std::to_string(count),
                 fmt::format("all levels must be as wide as the first ({})", channels.front()));
  }
}

// How many blocks come before each convolution but the first of one side's layers. Numbers that
// have no parameters are activations and upsamplings.
std::vector<int64_t> blocks_of(const TensorShapes& shapes, const std::string& layers) {
  constexpr int64_t most_layers = 1024;
  std::vector<int64_t> levels;
  int64_t blocks = 0;
  for (int64_t i = 1; i < most_layers; ++i) {
    std::string layer = fmt::format("{}{}.", layers, i);
    if (shapes.any(layer + "conv.")) {
      ++blocks;
    } else if (shapes.has(layer + "weight")) {
      levels.push_back(std::exchange(blocks, 0));
    }
  }
  return levels;
}

}  // namespace

AutoencoderTinyConfig read_autoencoder_tiny_config(const Json& json, const std::string& where) {
  auto config = read_config<AutoencoderTinyConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.out_channels, 1, 1 << 12);
  check.range("latent_channels", config.latent_channels, 1, 1 << 12);
  check.range("upsampling_scaling_factor", config.upsampling_scaling_factor, 1, 8);
  check.positive("scaling_factor", config.scaling_factor);
  check.one_of("act_fn", config.act_fn, {"relu", "silu", "swish", "gelu"});
  check.one_of("arch_variant", config.arch_variant, {"", "flux_2"});
  check_levels("encoder", config.encoder_block_out_channels, config.num_encoder_blocks, check);
  check_levels("decoder", config.decoder_block_out_channels, config.num_decoder_blocks, check);
  check.finish();
  return config;
}

Json autoencoder_tiny_config_of(const std::map<std::string, std::vector<int64_t>>& all,
                                const std::string& /*where*/) {
  const TensorShapes shapes(all);
  const std::string first_in = "encoder.layers.0.weight", first_out = "decoder.layers.0.weight";
  if (!shapes.has(first_in) || !shapes.has(first_out)) return {};
  std::vector<int64_t> down = blocks_of(shapes, "encoder.layers.");
  std::vector<int64_t> up = blocks_of(shapes, "decoder.layers.");
  bool pools = shapes.any("decoder.layers.2.pool.");
  return {
      {"_class_name", "AutoencoderTiny"},
      {"in_channels", shapes.size(first_in, 1)},
      {"latent_channels", shapes.size(first_out, 1)},
      {"encoder_block_out_channels", std::vector<int64_t>(down.size(), shapes.size(first_in, 0))},
      {"decoder_block_out_channels", std::vector<int64_t>(up.size(), shapes.size(first_out, 0))},
      {"num_encoder_blocks", down},
      {"num_decoder_blocks", up},
      {"arch_variant", pools ? "flux_2" : ""}};
}

}  // namespace omnirt
