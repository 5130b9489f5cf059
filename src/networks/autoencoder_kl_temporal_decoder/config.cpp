#include "networks/autoencoder_kl_temporal_decoder/config.hpp"

#include <fmt/format.h>

#include "nn/config_check.hpp"

namespace omnirt {

AutoencoderKLTemporalDecoderConfig read_autoencoder_kl_temporal_decoder_config(
    const Json& json, const std::string& where) {
  auto config = read_config<AutoencoderKLTemporalDecoderConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.out_channels, 1, 1 << 12);
  check.range("latent_channels", config.latent_channels, 1, 1 << 12);
  check.range("layers_per_block", config.layers_per_block, 1, 16);
  check.positive("scaling_factor", config.scaling_factor);
  size_t levels = config.block_out_channels.size();
  check.length("block_out_channels", levels, 8);
  check.expect(config.down_block_types.size() == levels, "block_out_channels",
               fmt::format("{} values", levels),
               "down_block_types and block_out_channels must be equally long");
  for (const auto& type : config.down_block_types)
    check.one_of("down_block_types", type, {"DownEncoderBlock2D"});
  for (int64_t channels : config.block_out_channels) {
    check.range("block_out_channels", channels, 1, 1 << 16);
    check.divisible("block_out_channels", channels, "the 32 groups of its norms",
                    config.norm_groups);
  }
  check.finish();
  return config;
}

}  // namespace omnirt
