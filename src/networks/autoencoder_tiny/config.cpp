#include "networks/autoencoder_tiny/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "nn/config_check.hpp"

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
    // A level's convolutions take and give the same number, so a change would not fit.
    check.expect(count == channels.front(), width, std::to_string(count),
                 fmt::format("all levels must be as wide as the first ({})", channels.front()));
  }
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
  check_levels("encoder", config.encoder_block_out_channels, config.num_encoder_blocks, check);
  check_levels("decoder", config.decoder_block_out_channels, config.num_decoder_blocks, check);
  check.finish();
  return config;
}

}  // namespace omnirt
