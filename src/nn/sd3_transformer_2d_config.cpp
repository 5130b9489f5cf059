#include "nn/sd3_transformer_2d_config.hpp"

#include <algorithm>

namespace omnirt {

bool SD3Transformer2DConfig::is_dual(int64_t layer) const {
  return std::ranges::count(dual_attention_layers, layer) > 0;
}

void check_sd3_transformer_2d_config(const SD3Transformer2DConfig& config, nn::ConfigCheck& check,
                                     bool reads_text) {
  check.range("patch_size", config.patch_size, 1, 64);
  check.range("sample_size", config.sample_size, config.patch_size, 1 << 14);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.predicted_channels(), 1, 1 << 12);
  check.range("num_layers", config.num_layers, 1, 512);
  check.range("attention_head_dim", config.attention_head_dim, 1, 1 << 10);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 10);
  check.range("joint_attention_dim", config.joint_attention_dim, 1, 1 << 17);
  check.range("pooled_projection_dim", config.pooled_projection_dim, 1, 1 << 17);
  check.range("pos_embed_max_size", config.pos_embed_max_size, 1, 1 << 12);
  if (config.qk_norm) check.one_of("qk_norm", *config.qk_norm, {"rms_norm"});
  // What follows computes with the sizes before it.
  if (!check.ok()) return;
  // Text and image are attended to as one.
  check.expect(!reads_text || config.caption_projection_dim == config.inner_dim(),
               "caption_projection_dim", std::to_string(config.caption_projection_dim),
               "the blocks are " + std::to_string(config.inner_dim()) + " wide",
               "the two must agree");
  for (int64_t layer : config.dual_attention_layers)
    check.range("dual_attention_layers", layer, 0, config.num_layers - 1);
}

SD3Transformer2DConfig read_sd3_transformer_2d_config(const Json& json, const std::string& where) {
  auto config = read_config<SD3Transformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check_sd3_transformer_2d_config(config, check);
  check.finish();
  return config;
}

}  // namespace omnirt
