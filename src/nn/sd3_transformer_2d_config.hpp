#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"
#include "nn/config_check.hpp"

namespace omnirt {

// config.json of SD3Transformer2DModel; defaults are those of diffusers' class.
struct SD3Transformer2DConfig {
  int64_t sample_size = 128;
  int64_t patch_size = 2;
  int64_t in_channels = 16;
  int64_t num_layers = 18;
  int64_t attention_head_dim = 64;
  int64_t num_attention_heads = 18;
  int64_t joint_attention_dim = 4096;
  int64_t caption_projection_dim = 1152;
  int64_t pooled_projection_dim = 2048;
  std::optional<int64_t> out_channels = 16;
  int64_t pos_embed_max_size = 96;
  std::vector<int64_t> dual_attention_layers;
  std::optional<std::string> qk_norm;

  static void visit(auto& self, auto& v) {
    v("sample_size", self.sample_size);
    v("patch_size", self.patch_size);
    v("in_channels", self.in_channels);
    v("num_layers", self.num_layers);
    v("attention_head_dim", self.attention_head_dim);
    v("num_attention_heads", self.num_attention_heads);
    v("joint_attention_dim", self.joint_attention_dim);
    v("caption_projection_dim", self.caption_projection_dim);
    v("pooled_projection_dim", self.pooled_projection_dim);
    v("out_channels", self.out_channels);
    v("pos_embed_max_size", self.pos_embed_max_size);
    v("dual_attention_layers", self.dual_attention_layers);
    v("qk_norm", self.qk_norm);
    v.only("quantization_config", {});
  }

  // The same whatever a config says.
  static constexpr int64_t mlp_ratio = 4;
  static constexpr double eps = 1e-6;

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  int64_t predicted_channels() const { return out_channels.value_or(in_channels); }
  // Whether block `layer` attends a second time to the image alone.
  bool is_dual(int64_t layer) const;
  // Whether it is the last, of which the text's part is not needed.
  bool is_last(int64_t layer) const { return layer == num_layers - 1; }
};

// Without `reads_text` the text's width, which then is read of nothing, is not looked at.
void check_sd3_transformer_2d_config(const SD3Transformer2DConfig& config, nn::ConfigCheck& check,
                                     bool reads_text = true);
// Reads and checks. Throws Unsupported with all findings; `where` is the file.
SD3Transformer2DConfig read_sd3_transformer_2d_config(const Json& json, const std::string& where);

}  // namespace omnirt
