#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/config.hpp"
#include "ops/activation.hpp"

namespace omnirt {

// config.json of PixArtTransformer2DModel; defaults are those of diffusers' class. Published
// checkpoints were written before it had a class of its own and name themselves Transformer2DModel.
struct PixArtTransformer2DConfig {
  int64_t num_attention_heads = 16;
  int64_t attention_head_dim = 72;
  int64_t in_channels = 4;
  std::optional<int64_t> out_channels = 8;
  int64_t num_layers = 28;
  int64_t cross_attention_dim = 1152;
  bool attention_bias = true;
  int64_t sample_size = 128;
  int64_t patch_size = 2;
  std::string activation_fn = "gelu-approximate";
  bool upcast_attention = false;
  bool norm_elementwise_affine = false;
  double norm_eps = 1e-6;
  std::optional<double> interpolation_scale;
  std::optional<bool> use_additional_conditions;
  std::optional<int64_t> caption_channels;

  static void visit(auto& self, auto& v) {
    v("num_attention_heads", self.num_attention_heads);
    v("attention_head_dim", self.attention_head_dim);
    v("in_channels", self.in_channels);
    v("out_channels", self.out_channels);
    v("num_layers", self.num_layers);
    v("cross_attention_dim", self.cross_attention_dim);
    v("attention_bias", self.attention_bias);
    v("sample_size", self.sample_size);
    v("patch_size", self.patch_size);
    v("activation_fn", self.activation_fn);
    v("upcast_attention", self.upcast_attention);
    v("norm_elementwise_affine", self.norm_elementwise_affine);
    v("norm_eps", self.norm_eps);
    v("interpolation_scale", self.interpolation_scale);
    v("use_additional_conditions", self.use_additional_conditions);
    v("caption_channels", self.caption_channels);
    v.only("norm_type", {"ada_norm_single"});
    v.only("attention_type", {"default"});
    v.only("only_cross_attention", {false});
    v.only("double_self_attention", {false});
    v.only("num_vector_embeds", {});
    // Training, and what has no meaning where latents come in patches.
    v.ignore({"dropout", "norm_num_groups", "num_embeds_ada_norm", "use_linear_projection"});
  }

  int64_t inner_dim() const { return num_attention_heads * attention_head_dim; }
  // Channels of the prediction: twice the latents' where the network predicts a variance too.
  int64_t predicted_channels() const { return out_channels.value_or(in_channels); }
  // Whether size and aspect ratio of the image are conditions.
  bool takes_size() const { return use_additional_conditions.value_or(sample_size == 128); }
  double position_scale() const;
  // Throws Unsupported.
  ops::Activation activation() const;
};

// Reads and checks. Throws Unsupported with all findings; `where` is the file.
PixArtTransformer2DConfig read_pixart_transformer_2d_config(const Json& json,
                                                            const std::string& where);

}  // namespace omnirt
