#include "networks/flux_controlnet_model/config.hpp"

namespace omnirt {

FluxControlNetConfig read_flux_controlnet_config(const Json& json, const std::string& where) {
  auto config = read_config<FluxControlNetConfig>(json, where);
  const FluxTransformer2DConfig& blocks = config.transformer;
  nn::ConfigCheck check(where);
  check_flux_transformer_2d_config(blocks, check);
  check.range("num_mode", config.num_mode.value_or(1), 1, 1 << 10);
  const int64_t hint = config.conditioning_embedding_channels.value_or(1);
  check.range("conditioning_embedding_channels", hint, 1, 1 << 14);
  if (check.ok() && config.conditioning_embedding_channels) {
    const int64_t token = hint * blocks.patch_size * blocks.patch_size;
    check.expect(token == blocks.in_channels, "conditioning_embedding_channels",
                 std::to_string(hint),
                 "squares of patch_size make tokens of " + std::to_string(token) +
                     " values, and in_channels is " + std::to_string(blocks.in_channels));
  }
  check.finish();
  return config;
}

}  // namespace omnirt
