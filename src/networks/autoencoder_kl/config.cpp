#include "networks/autoencoder_kl/config.hpp"

#include <fmt/format.h>

#include "nn/config_check.hpp"

namespace omnirt {
namespace {

void check_lists(const AutoencoderKLConfig& config, nn::ConfigCheck& check) {
  size_t levels = config.block_out_channels.size();
  check.length("block_out_channels", levels, 8);
  check.expect(config.down_block_types.size() == levels && config.up_block_types.size() == levels,
               "block_out_channels", fmt::format("{} values", levels),
               "down_block_types, up_block_types and block_out_channels must be equally long");
  for (const auto& type : config.down_block_types) {
    check.one_of("down_block_types", type, {"DownEncoderBlock2D"});
  }
  for (const auto& type : config.up_block_types) {
    check.one_of("up_block_types", type, {"UpDecoderBlock2D"});
  }
  for (int64_t channels : config.block_out_channels) {
    check.range("block_out_channels", channels, 1, 1 << 16);
    check.divisible("block_out_channels", channels, "norm_num_groups", config.norm_num_groups);
  }
}

}  // namespace

AutoencoderKLConfig read_autoencoder_kl_config(const Json& json, const std::string& where) {
  auto config = read_config<AutoencoderKLConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.out_channels, 1, 1 << 12);
  check.range("latent_channels", config.latent_channels, 1, 1 << 12);
  check.range("layers_per_block", config.layers_per_block, 1, 16);
  check.range("norm_num_groups", config.norm_num_groups, 1, 1 << 12);
  check.positive("scaling_factor", config.scaling_factor);
  check.one_of("act_fn", config.act_fn, {"silu", "swish", "gelu", "relu"});
  check_lists(config, check);
  check.finish();
  return config;
}

}  // namespace omnirt
