#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/config.hpp"

namespace omnirt {

// config.json of Lumina2Transformer2DModel; defaults are those of diffusers' class.
struct Lumina2Transformer2DConfig {
  int64_t sample_size = 128;
  int64_t patch_size = 2;
  int64_t in_channels = 16;
  std::optional<int64_t> out_channels;  // null: as in_channels
  int64_t hidden_size = 2304;
  int64_t num_layers = 26;
  int64_t num_refiner_layers = 2;
  int64_t num_attention_heads = 24;
  std::optional<int64_t> num_kv_heads = 8;  // null: as many as heads
  int64_t multiple_of = 256;
  std::optional<double> ffn_dim_multiplier;
  double norm_eps = 1e-5;
  std::vector<int64_t> axes_dim_rope{32, 32, 32};
  std::vector<int64_t> axes_lens{300, 512, 512};
  int64_t cap_feat_dim = 1024;

  static void visit(auto& self, auto& v) {
    v("sample_size", self.sample_size);
    v("patch_size", self.patch_size);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("hidden_size", self.hidden_size);
    v("num_layers", self.num_layers);
    v("num_refiner_layers", self.num_refiner_layers);
    v("num_attention_heads", self.num_attention_heads);
    v("num_kv_heads", self.num_kv_heads);
    v("multiple_of", self.multiple_of);
    v("ffn_dim_multiplier", self.ffn_dim_multiplier);
    v("norm_eps", self.norm_eps);
    v("axes_dim_rope", self.axes_dim_rope);
    v("axes_lens", self.axes_lens);
    v("cap_feat_dim", self.cap_feat_dim);
    v.only("quantization_config", {});
    v.ignore({"scaling_factor"});  // which the reference does not read
  }

  int64_t channels_out() const { return out_channels.value_or(in_channels); }
  int64_t head_dim() const { return hidden_size / num_attention_heads; }
  int64_t kv_heads() const { return num_kv_heads.value_or(num_attention_heads); }
  // Width of the embedded timestep.
  int64_t modulation_dim() const { return std::min<int64_t>(hidden_size, 1024); }
  // Four times hidden_size, by ffn_dim_multiplier, up to a multiple of multiple_of.
  int64_t feed_forward_dim() const;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
Lumina2Transformer2DConfig read_lumina2_transformer_2d_config(const Json& json,
                                                              const std::string& where);

}  // namespace omnirt
