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
  return cx.segment(path(), [&] { return joined(cx, convolved(cx, x, temb), x); });
}

// What conv2 takes: the first convolution with the time embedding, normalised and activated.
Tensor ResnetBlock2D::convolved(Context& cx, const Tensor& x, const Tensor* temb) const {
  Tensor h = norm1.forward(cx, x, options_.activation);
  if (!time_emb_proj || !temb) {
    return norm2.forward(cx, conv1.forward(cx, h), options_.activation);
  }
  Tensor time = time_emb_proj->forward(cx, *temb);
  if (!options_.scale_shift) {
    h = conv1.forward(cx, h, {.sample_bias = &time});
    return norm2.forward(cx, h, options_.activation);
  }
  auto halves = time.unsqueeze(-1).unsqueeze(-1).chunk(2, 1);
  h = norm2.forward(cx, conv1.forward(cx, h));
  h = cx.ops().modulate(cx, {h, halves[0], halves[1]});
  return cx.ops().activate(cx, {h, options_.activation});
}

Tensor ResnetBlock2D::joined(Context& cx, const Tensor& h, const Tensor& x) const {
  Tensor residual = conv_shortcut ? conv_shortcut->forward(cx, x) : x;
  if (options_.output_scale_factor == 1.0) return conv2.forward(cx, h, {.residual = &residual});
  Tensor y = conv2.forward(cx, h);
  return cx.ops().add(cx, {y, residual, 1.0 / options_.output_scale_factor});
}

}  // namespace omnirt::nn
