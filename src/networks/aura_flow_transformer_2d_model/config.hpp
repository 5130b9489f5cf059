#pragma once
#include <cstdint>
#include <string>

#include "base/config.hpp"

namespace omnirt {

// config.json of AuraFlowTransformer2DModel; defaults are those of diffusers' class.
struct AuraFlowTransformer2DConfig {
  int64_t sample_size = 64;
  int64_t patch_size = 2;
  int64_t in_channels = 4;
  int64_t num_mmdit_layers = 4;
  int64_t num_single_dit_layers = 32;
  int64_t attention_head_dim = 256;
  int64_t num_attention_heads = 12;
  int64_t joint_attention_dim = 2048;
  int64_t caption_projection_dim = 3072;
  int64_t out_channels = 4;
  int64_t pos_embed_max_size = 1024;

  static void visit(auto& self, auto& v) {
    v("sample_size", self.sample_size);
    v("patch_size", self.patch_size);
    v("in_channels", self.in_channels);
    v("num_mmdit_layers", self.num_mmdit_layers);
    v("num_single_dit_layers", self.num_single_dit_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("joint_attention_dim", self.joint_attention_dim);
    v("caption_projection_dim", self.caption_projection_dim);
    v("out_channels", self.out_channels);
    v("pos_embed_max_size", self.pos_embed_max_size);
    v.only("quantization_config", {});
  }

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  // Two thirds of four times inner_dim, up to a multiple of 256.
  int64_t feed_forward_dim() const;
  // Tokens on a side of the square of positions.
  int64_t positions_side() const;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
AuraFlowTransformer2DConfig read_aura_flow_transformer_2d_config(const Json& json,
                                                                 const std::string& where);

}  // namespace omnirt
