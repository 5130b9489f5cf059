#include "networks/autoencoder_dc/resample.hpp"

namespace omnirt {
namespace {

constexpr int64_t side = 2;  // pixels of a coarser level's pixel, a side
constexpr nn::Conv2dOptions strided{3, side, {1, 1, 1, 1}, true};

Tensor places_first(const Tensor& x) {
  return x.permute({0, 2, 3, 1});  // {B, H, W, C}
}

}  // namespace

Tensor repeated_channels(const Tensor& x, int64_t repeats) {
  const int64_t rows = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
  return places_first(x)
      .unsqueeze(4)
      .expand({rows, height, width, channels, repeats})
      .reshape({rows, height, width, channels * repeats})
      .permute({0, 3, 1, 2});
}

Tensor grouped_mean(Context& cx, const Tensor& x, int64_t group) {
  if (group == 1) return x;
  const int64_t rows = x.size(0), height = x.size(2), width = x.size(3);
  Tensor parts = places_first(x).reshape({rows, height, width, x.size(1) / group, group});
  Tensor sum = parts.select(4, 0).contiguous();
  for (int64_t i = 1; i < group; ++i) {
    const double scale = i + 1 == group ? 1.0 / static_cast<double>(group) : 1.0;
    Tensor part = parts.select(4, i).contiguous();
    sum = cx.ops().add(cx, {sum, part, scale});
  }
  return sum.permute({0, 3, 1, 2});
}

Tensor shuffled(const Tensor& x) {
  const int64_t rows = x.size(0), height = x.size(2), width = x.size(3);
  const int64_t channels = x.size(1) / (side * side);
  return places_first(x)
      .reshape({rows, height, width, channels, side, side})
      .permute({0, 1, 4, 2, 5, 3})
      .reshape({rows, height * side, width * side, channels})
      .permute({0, 3, 1, 2});
}

Tensor unshuffled(const Tensor& x) {
  const int64_t rows = x.size(0), height = x.size(2) / side, width = x.size(3) / side;
  return places_first(x)
      .reshape({rows, height, side, width, side, x.size(1)})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape({rows, height, width, x.size(1) * side * side})
      .permute({0, 3, 1, 2});
}

DCDownBlock::DCDownBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                         bool unshuffles)
    : Module(parent, name),
      conv(this, "conv", in, unshuffles ? out / (side * side) : out,
           unshuffles ? nn::Conv2dOptions{} : strided),
      unshuffles_(unshuffles),
      group_(in * side * side / out) {}

Tensor DCDownBlock::forward(Context& cx, const Tensor& x) const {
  Tensor past = grouped_mean(cx, unshuffled(x), group_);
  if (!unshuffles_) return conv.forward(cx, x, {.residual = &past});
  Tensor h = unshuffled(conv.forward(cx, x));
  return cx.ops().add(cx, {h, past});
}

DCUpBlock::DCUpBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                     bool interpolates)
    : Module(parent, name),
      conv(this, "conv", in, interpolates ? out : out * side * side),
      interpolates_(interpolates),
      repeats_(out * side * side / in) {}

// As many repeats as a pixel has parts: they are the same.
Tensor DCUpBlock::shortcut(Context& cx, const Tensor& x) const {
  if (repeats_ == side * side)
    return cx.ops().upsample_nearest(cx, {x, side * x.size(2), side * x.size(3)});
  return shuffled(repeated_channels(x, repeats_));
}

Tensor DCUpBlock::forward(Context& cx, const Tensor& x) const {
  Tensor past = shortcut(cx, x);
  if (interpolates_) {
    return conv.forward(cx, x,
                        {.residual = &past, .upsample_to = {side * x.size(2), side * x.size(3)}});
  }
  Tensor h = shuffled(conv.forward(cx, x));
  return cx.ops().add(cx, {h, past});
}

}  // namespace omnirt
