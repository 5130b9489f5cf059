#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/config_check.hpp"

namespace omnirt {

// config.json of QwenImageTransformer2DModel; defaults are those of diffusers' class.
struct QwenImageTransformer2DConfig {
  int64_t patch_size = 2;
  int64_t in_channels = 64;
  std::optional<int64_t> out_channels = 16;  // null: as in_channels
  int64_t num_layers = 60;
  int64_t attention_head_dim = 128;
  int64_t num_attention_heads = 24;
  int64_t joint_attention_dim = 3584;
  std::vector<int64_t> axes_dims_rope{16, 56, 56};
  bool zero_cond_t = false;            // reference images are modulated as at timestep 0
  bool use_additional_t_cond = false;  // what else the timestep's embedding says, one of two
  bool use_layer3d_rope = false;       // positions of layers, which whoever calls gives

  static void visit(auto& self, auto& v) {
    v("patch_size", self.patch_size);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("num_layers", self.num_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("joint_attention_dim", self.joint_attention_dim);
    v("axes_dims_rope", self.axes_dims_rope);
    v("zero_cond_t", self.zero_cond_t);
    v("use_additional_t_cond", self.use_additional_t_cond);
    v("use_layer3d_rope", self.use_layer3d_rope);
    // The reference declares guidance_embeds and cannot compute with it.
    v.only("guidance_embeds", {false});
    v.only("quantization_config", {});
    v.ignore({"pooled_projection_dim"});
  }

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  int64_t patch_area() const { return patch_size * patch_size; }
  // Channels of the latents, whose squares of patch_size are a token each.
  int64_t latent_channels() const { return in_channels / patch_area(); }
  int64_t predicted_channels() const { return out_channels.value_or(in_channels); }
};

void check_qwen_image_transformer_2d_config(const QwenImageTransformer2DConfig& config,
                                            nn::ConfigCheck& check);
// Reads and checks. Throws Unsupported with all findings; `where` is the file.
QwenImageTransformer2DConfig read_qwen_image_transformer_2d_config(const Json& json,
                                                                   const std::string& where);

}  // namespace omnirt
