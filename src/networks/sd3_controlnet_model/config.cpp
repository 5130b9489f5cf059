#include "networks/sd3_controlnet_model/config.hpp"

namespace omnirt {

SD3ControlNetConfig read_sd3_controlnet_config(const Json& json, const std::string& where) {
  auto config = read_config<SD3ControlNetConfig>(json, where);
  SD3Transformer2DConfig& blocks = config.transformer;
  nn::ConfigCheck check(where);
  if (config.reads_text())
    blocks.joint_attention_dim = *config.joint_attention_dim;
  else
    blocks.caption_projection_dim = blocks.inner_dim();  // of a text that is not read
  if (config.pos_embed_type) check.one_of("pos_embed_type", *config.pos_embed_type, {"sincos"});
  check_sd3_transformer_2d_config(blocks, check);
  check.finish();
  return config;
}

}  // namespace omnirt
