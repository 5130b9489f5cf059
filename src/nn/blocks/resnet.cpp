#include "nn/blocks/resnet.hpp"

namespace omnirt::nn {

ResnetBlock2D::ResnetBlock2D(Module* parent, const std::string& name, const ResnetOptions& options)
    : Module(parent, name),
      norm1(this, "norm1", options.groups, options.in, options.eps),
      conv1(this, "conv1", options.in, options.out),
      norm2(this, "norm2", options.groups, options.out, options.eps),
      conv2(this, "conv2", options.out, options.out),
      options_(options) {
  if (options.temb > 0) {
    int64_t width = options.scale_shift ? 2 * options.out : options.out;
    time_emb_proj.emplace(this, "time_emb_proj", options.temb, width);
  }
  if (options.in != options.out) {
    conv_shortcut.emplace(this, "conv_shortcut", options.in, options.out, conv1x1);
  }
}

Tensor ResnetBlock2D::forward(Context& cx, const Tensor& x, const Tensor* temb) const {
  return cx.segment(path(), [&] {
    Tensor time = time_emb_proj && temb ? time_emb_proj->forward(cx, *temb) : Tensor();
    bool modulates = time.defined() && options_.scale_shift;
    Tensor h = convolved(cx, x, time.defined() && !modulates ? &time : nullptr);
    if (modulates) h = modulated(cx, h, time);
    return joined(cx, h, x, modulates);
  });
}

// The first convolution, of the normalised input, with the time embedding.
Tensor ResnetBlock2D::convolved(Context& cx, const Tensor& x, const Tensor* time) const {
  return conv1.forward(
      cx, x, {.sample_bias = time, .norm = &norm1, .norm_activation = options_.activation});
}

// norm2(h) * (1 + scale) + shift, activated; time {B, 2 out} holds scale and shift.
Tensor ResnetBlock2D::modulated(Context& cx, const Tensor& h, const Tensor& time) const {
  auto halves = time.unsqueeze(-1).unsqueeze(-1).chunk(2, 1);
  Tensor normed = norm2.forward(cx, h);
  return cx.ops().activate(
      cx, {cx.ops().modulate(cx, {normed, halves[0], halves[1]}), options_.activation});
}

Tensor ResnetBlock2D::joined(Context& cx, const Tensor& h, const Tensor& x, bool normed) const {
  Tensor residual = conv_shortcut ? conv_shortcut->forward(cx, x) : x;
  bool plain_sum = options_.output_scale_factor == 1.0;
  Tensor y = conv2.forward(cx, h,
                           {.residual = plain_sum ? &residual : nullptr,
                            .norm = normed ? nullptr : &norm2,
                            .norm_activation = options_.activation,
                            .into = plain_sum && conv_shortcut ? &residual : nullptr});
  return plain_sum ? y : cx.ops().add(cx, {y, residual, 1.0 / options_.output_scale_factor});
}

}  // namespace omnirt::nn
