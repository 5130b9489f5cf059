#include "networks/autoencoder_kl/config.hpp"

#include "nn/autoencoder_config.hpp"

namespace omnirt {
AutoencoderKLConfig read_autoencoder_kl_config(const Json& json, const std::string& where) {
  auto config = read_config<AutoencoderKLConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.out_channels, 1, 1 << 12);
  check.range("latent_channels", config.latent_channels, 1, 1 << 12);
  check.range("sample_size", config.tile_size(), 1, 1 << 16);
  check.range("layers_per_block", config.layers_per_block, 1, 16);
  check.range("norm_num_groups", config.norm_num_groups, 1, 1 << 12);
  check.positive("scaling_factor", config.scaling_factor);
  check.one_of("act_fn", config.act_fn, {"silu", "swish", "gelu", "relu"});
  nn::check_autoencoder_levels({config.down_block_types, config.up_block_types,
                                config.block_out_channels, config.norm_num_groups},
                               check);
  check.finish();
  return config;
}

}  // namespace omnirt
