#include "networks/pixart_transformer_2d_model/config.hpp"

#include <algorithm>

#include "nn/config_check.hpp"

namespace omnirt {

double PixArtTransformer2DConfig::position_scale() const {
  return interpolation_scale.value_or(static_cast<double>(std::max<int64_t>(sample_size / 64, 1)));
}

ops::Activation PixArtTransformer2DConfig::activation() const {
  return activation_fn == "gelu-approximate"
             ? ops::Activation::gelu_tanh
             : ops::activation_from_name(activation_fn, "activation_fn");
}

PixArtTransformer2DConfig read_pixart_transformer_2d_config(const Json& json,
                                                            const std::string& where) {
  auto config = read_config<PixArtTransformer2DConfig>(json, where);
  nn::ConfigCheck check(where);
  check.range("num_attention_heads", config.num_attention_heads, 1, 1 << 10);
  check.range("attention_head_dim", config.attention_head_dim, 1, 1 << 10);
  check.range("in_channels", config.in_channels, 1, 1 << 12);
  check.range("out_channels", config.predicted_channels(), 1, 1 << 12);
  check.range("num_layers", config.num_layers, 1, 512);
  check.range("cross_attention_dim", config.cross_attention_dim, 1, 1 << 16);
  check.range("caption_channels", config.caption_channels.value_or(1), 1, 1 << 16);
  check.range("patch_size", config.patch_size, 1, 64);
  check.range("sample_size", config.sample_size, config.patch_size, 1 << 14);
  check.positive("norm_eps", config.norm_eps);
  check.positive("interpolation_scale", config.position_scale());
  check.one_of("activation_fn", config.activation_fn, {"gelu-approximate", "gelu"});
  if (check.ok()) {
    // A quarter of each token's width are the sines of its row.
    check.divisible("num_attention_heads * attention_head_dim", config.inner_dim(),
                    "a wave's parts", 4);
    if (config.takes_size()) {
      check.divisible("num_attention_heads * attention_head_dim", config.inner_dim(),
                      "height, width and aspect ratio", 3);
    }
    int64_t text = config.caption_channels ? config.inner_dim() : config.cross_attention_dim;
    check.expect(text == config.cross_attention_dim, "cross_attention_dim",
                 std::to_string(config.cross_attention_dim),
                 "captions are projected to " + std::to_string(text) + " channels",
                 "the two must agree");
  }
  check.finish();
  return config;
}

}  // namespace omnirt
