#include "networks/sd3_controlnet_model/config.hpp"

namespace omnirt {
namespace {

// What its reference's pipeline for inpainting takes.
void check_mask(const SD3ControlNetConfig& config, nn::ConfigCheck& check) {
  check.range("extra_conditioning_channels", config.extra_conditioning_channels, 0, 1);
  if (!config.reads_mask()) return;
  check.expect(config.reads_text(), "joint_attention_dim", "null",
               "a ControlNet for inpainting (extra_conditioning_channels) reads the text");
  check.expect(config.use_pos_embed, "use_pos_embed", "false",
               "a ControlNet for inpainting (extra_conditioning_channels) reads latents");
}

}  // namespace

SD3ControlNetConfig read_sd3_controlnet_config(const Json& json, const std::string& where) {
  auto config = read_config<SD3ControlNetConfig>(json, where);
  SD3Transformer2DConfig& blocks = config.transformer;
  nn::ConfigCheck check(where);
  if (config.reads_text()) blocks.joint_attention_dim = *config.joint_attention_dim;
  if (config.pos_embed_type) check.one_of("pos_embed_type", *config.pos_embed_type, {"sincos"});
  check_sd3_transformer_2d_config(blocks, check, config.reads_text());
  check_mask(config, check);
  check.finish();
  if (!config.reads_text()) blocks.caption_projection_dim = blocks.inner_dim();
  return config;
}

}  // namespace omnirt
