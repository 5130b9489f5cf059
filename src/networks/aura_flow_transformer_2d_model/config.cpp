#include "networks/aura_flow_transformer_2d_model/config.hpp"

#include <fmt/format.h>

#include <cmath>

#include "nn/config_check.hpp"

namespace omnirt {

int64_t AuraFlowTransformer2DConfig::feed_forward_dim() const {
  constexpr int64_t multiple = 256;
  const int64_t width = 2 * (4 * inner_dim()) / 3;
  return (width + multiple - 1) / multiple * multiple;
}

int64_t AuraFlowTransformer2DConfig::positions_side() const {
  return static_cast<int64_t>(std::sqrt(static_cast<double>(pos_embed_max_size)));
}

AuraFlowTransformer2DConfig read_aura_flow_transformer_2d_config(const Json& json,
                                                                 const std::string& where) {
  auto config = read_config<AuraFlowTransformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("sample_size", config.sample_size, 1, 1 << 12);
  check.range("patch_size", config.patch_size, 1, 64);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.out_channels, 1, 1 << 12);
  check.range("num_mmdit_layers", config.num_mmdit_layers, 0, 512);
  check.range("num_single_dit_layers", config.num_single_dit_layers, 0, 512);
  check.range("attention_head_dim", config.attention_head_dim, 1, 1 << 12);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 10);
  check.range("joint_attention_dim", config.joint_attention_dim, 1, 1 << 17);
  check.range("pos_embed_max_size", config.pos_embed_max_size, 1, 1 << 24);
  if (check.ok()) {
    check.range("num_attention_heads * attention_head_dim", config.inner_dim(), 1, 1 << 16);
    const int64_t side = config.positions_side();
    check.expect(side * side == config.pos_embed_max_size, "pos_embed_max_size",
                 std::to_string(config.pos_embed_max_size), "no square of tokens");
    check.expect(config.caption_projection_dim == config.inner_dim(), "caption_projection_dim",
                 std::to_string(config.caption_projection_dim),
                 fmt::format("the blocks are {} wide", config.inner_dim()));
  }
  check.finish();
  return config;
}

}  // namespace omnirt
