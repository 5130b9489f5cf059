#pragma once
#include <optional>
#include <string>

#include "nn/sd3_transformer_2d_config.hpp"

namespace omnirt {

// config.json of SD3ControlNetModel; defaults are those of diffusers' class. What it shares with
// the transformer whose blocks it copies is read into that one's config.
struct SD3ControlNetConfig {
  SD3Transformer2DConfig transformer;
  std::optional<int64_t> joint_attention_dim = 4096;  // null: it reads no text
  std::optional<std::string> pos_embed_type = "sincos";
  bool use_pos_embed = true;  // false: it takes the model's tokens
  bool force_zeros_for_pooled_projection = true;
  // Of the control image, in addition to its latents': for inpainting, where the image is kept.
  int64_t extra_conditioning_channels = 0;

  static void visit(auto& self, auto& v) {
    auto& blocks = self.transformer;
    v("sample_size", blocks.sample_size);
    v("patch_size", blocks.patch_size);
    v("in_channels", blocks.in_channels);
    v("num_layers", blocks.num_layers);
    v("attention_head_dim", blocks.attention_head_dim);
    v("num_attention_heads", blocks.num_attention_heads);
    v("joint_attention_dim", self.joint_attention_dim);
    v("caption_projection_dim", blocks.caption_projection_dim);
    v("pooled_projection_dim", blocks.pooled_projection_dim);
    v("out_channels", blocks.out_channels);
    v("pos_embed_max_size", blocks.pos_embed_max_size);
    v("dual_attention_layers", blocks.dual_attention_layers);
    v("qk_norm", blocks.qk_norm);
    v("pos_embed_type", self.pos_embed_type);
    v("use_pos_embed", self.use_pos_embed);
    v("force_zeros_for_pooled_projection", self.force_zeros_for_pooled_projection);
    v("extra_conditioning_channels", self.extra_conditioning_channels);
    v.only("quantization_config", {});
  }

  bool reads_text() const { return joint_attention_dim.has_value(); }
  bool reads_mask() const { return extra_conditioning_channels != 0; }
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
SD3ControlNetConfig read_sd3_controlnet_config(const Json& json, const std::string& where);

}  // namespace omnirt
