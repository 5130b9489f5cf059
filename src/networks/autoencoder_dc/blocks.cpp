#include "networks/autoencoder_dc/blocks.hpp"

#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double dc_norm_eps = 1e-5;
constexpr int64_t dc_expand_ratio = 4;
constexpr nn::Conv2dOptions without_bias{3, 1, {1, 1, 1, 1}, false};

}  // namespace

DCResBlock::DCResBlock(Module* parent, const std::string& name, int64_t channels,
                       const std::string& activation)
    : DCLayer(parent, name),
      conv1(this, "conv1", channels, channels),
      conv2(this, "conv2", channels, channels, without_bias),
      norm(this, "norm", channels, dc_norm_eps),
      activation_(ops::activation_from_name(activation, "decoder_act_fns")) {}

Tensor DCResBlock::forward(Context& cx, const Tensor& x) const {
  return cx.segment(path(), [&] {
    Tensor h = conv1.forward(cx, x, {.activation = activation_});
    return norm.forward(cx, conv2.forward(cx, h), &x);
  });
}

// Each head's queries, keys and values are groups of their own.
DCScale::DCScale(Module* parent, const std::string& name, int64_t channels, int64_t heads,
                 int64_t kernel)
    : Module(parent, name),
      proj_in(
          this, "proj_in",
          {.in = channels, .out = channels, .groups = channels, .kernel = kernel, .bias = false}),
      proj_out(this, "proj_out",
               {.in = channels, .out = channels, .groups = 3 * heads, .kernel = 1, .bias = false}) {
}

Tensor DCScale::forward(Context& cx, const Tensor& x) const {
  return proj_out.forward(cx, proj_in.forward(cx, x));
}

DCAttention::DCAttention(Module* parent, const std::string& name, const DCLevel& level,
                         int64_t head_dim)
    : Module(parent, name),
      to_q(this, "to_q", level.channels, level.channels, /*with_bias=*/false),
      to_k(this, "to_k", level.channels, level.channels, /*with_bias=*/false),
      to_v(this, "to_v", level.channels, level.channels, /*with_bias=*/false),
      to_qkv_multiscale(this, "to_qkv_multiscale"),
      to_out(this, "to_out", level.channels * static_cast<int64_t>(1 + level.scales.size()),
             level.channels, /*with_bias=*/false),
      norm_out(this, "norm_out", level.channels, dc_norm_eps),
      head_dim_(head_dim) {
  const int64_t heads = level.channels / head_dim;
  for (int64_t kernel : level.scales) to_qkv_multiscale.add(3 * level.channels, heads, kernel);
}

// The reference takes queries, keys and values of a head from three parts in a row of all channels,
// wherever these came from.
Tensor DCAttention::forward(Context& cx, const Tensor& x) const {
  const int64_t rows = x.size(0), height = x.size(2), width = x.size(3);
  Tensor tokens = nn::tokens_of(x);
  auto image = [&](const nn::Linear& to) {
    return nn::image_of(to.forward(cx, tokens), height, width);
  };
  Tensor once = cx.ops().concat(cx, {image(to_q), image(to_k)});
  once = cx.ops().concat(cx, {once, image(to_v)});
  Tensor all = once;
  for (size_t i = 0; i < to_qkv_multiscale.size(); ++i)
    all = cx.ops().concat(cx, {all, to_qkv_multiscale[i].forward(cx, once)});
  const int64_t heads = all.size(1) / (3 * head_dim_);
  Tensor parts = nn::tokens_of(all).view({rows, height * width, heads, 3 * head_dim_});
  auto part = [&](int64_t i) { return parts.narrow(3, i * head_dim_, head_dim_); };
  Tensor y = cx.ops().linear_attention(cx, {part(0), part(1), part(2)});
  y = to_out.forward(cx, y.view({rows, height * width, heads * head_dim_}));
  return norm_out.forward(cx, nn::image_of(y, height, width), &x);
}

DCAttentionBlock::DCAttentionBlock(Module* parent, const std::string& name, const DCLevel& level,
                                   int64_t head_dim)
    : DCLayer(parent, name),
      attn(this, "attn", level, head_dim),
      conv_out(
          this, "conv_out",
          {.channels = level.channels, .hidden = dc_expand_ratio * level.channels, .norm = true}) {}

Tensor DCAttentionBlock::forward(Context& cx, const Tensor& x) const {
  return cx.segment(path(), [&] { return conv_out.forward(cx, attn.forward(cx, x)); });
}

}  // namespace omnirt
