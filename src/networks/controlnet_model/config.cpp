#include "networks/controlnet_model/config.hpp"

#include <fmt/format.h>

namespace omnirt {

ControlNetConfig read_controlnet_config(const Json& json, const std::string& where) {
  auto config = read_config<ControlNetConfig>(json, where);
  UNet2DConditionConfig& unet = config.unet;
  if (config.num_attention_heads) unet.attention_head_dim = *config.num_attention_heads;
  unet.mid_block_type = config.mid_block_type;
  // It has no up path; the UNet's checks want one.
  unet.up_block_types.assign(unet.down_block_types.size(), "UpBlock2D");
  nn::ConfigCheck check(where);
  check_unet_2d_condition_config(unet, check);
  check.expect(std::holds_alternative<int64_t>(unet.layers_per_block), "layers_per_block", "a list",
               "one number is expected");
  check.range("conditioning_channels", config.conditioning_channels, 1, 1 << 10);
  check.one_of("controlnet_conditioning_channel_order",
               config.controlnet_conditioning_channel_order, {"rgb", "bgr"});
  const auto& channels = config.conditioning_embedding_out_channels;
  check.length("conditioning_embedding_out_channels", channels.size(), 8);
  for (int64_t each : channels)
    check.range("conditioning_embedding_out_channels", each, 1, 1 << 14);
  check.finish();
  return config;
}

}  // namespace omnirt
