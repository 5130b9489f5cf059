#include "nn/blocks/resample.hpp"

namespace omnirt::nn {
namespace {

Conv2dOptions halving(int64_t padding) {
  Conv2dOptions options{.stride = 2, .padding = {padding, padding, padding, padding}};
  if (padding == 0) options.padding = {0, 1, 0, 1};
  return options;
}

}  // namespace

Downsample2D::Downsample2D(Module* parent, const std::string& name, int64_t channels,
                           int64_t padding)
    : Module(parent, name), conv(this, "conv", channels, channels, halving(padding)) {}

Upsample2D::Upsample2D(Module* parent, const std::string& name, int64_t channels)
    : Module(parent, name), conv(this, "conv", channels, channels) {}

Tensor Upsample2D::forward(Context& cx, const Tensor& x) const {
  return forward(cx, x, {2 * x.size(2), 2 * x.size(3)});
}

Tensor Upsample2D::forward(Context& cx, const Tensor& x, std::array<int64_t, 2> size) const {
  return conv.forward(cx, x, {.upsample_to = size});
}

}  // namespace omnirt::nn
