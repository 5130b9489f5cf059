#include "networks/autoencoder_kl_qwen_image21/shortcuts.hpp"

#include <algorithm>

#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr int64_t pixels_of_square = 4;

int64_t places_of_square(bool over_time) {
  return over_time ? 2 * pixels_of_square : pixels_of_square;
}

// {B, n C, H, W} -> {B, C, H, W}: means of n neighbours.
Tensor mean_of_channels(Context& cx, const Tensor& x, int64_t count) {
  if (count == 1) return x;
  const Tensor apart = nn::tokens_of(x).unflatten(2, {-1, count});
  Tensor sum = apart.select(3, 0).contiguous();
  for (int64_t i = 1; i < count; ++i) {
    const Tensor next = apart.select(3, i).contiguous();
    sum = cx.ops().add(cx, {sum, next});
  }
  const Tensor mean = cx.ops().affine(cx, {sum, 1.0 / static_cast<double>(count), 0.0});
  return nn::image_of(mean, x.size(2), x.size(3));
}

// {B, C, H, W} -> {B, 2 C, H, W}: zeros before each channel.
Tensor after_zeros(Context& cx, const Tensor& x) {
  const Tensor tokens = nn::tokens_of(x), each = tokens.reshape({-1, 1});
  const Tensor zeros = cx.ops().affine(cx, {each, 0.0, 0.0});
  const Tensor both = cx.ops().concat(cx, {zeros, each});
  return nn::image_of(both.view({x.size(0), tokens.size(1), 2 * x.size(1)}), x.size(2), x.size(3));
}

}  // namespace

bool shortens(int64_t in, int64_t out, bool halved, bool over_time) {
  if (!halved) return in % out == 0;
  if (in % out == 0) return true;
  // One frame of a channel is zeros, the other a mean.
  return over_time && out == 2 * in;
}

Tensor shortened(Context& cx, const Tensor& x, int64_t out, bool halved, bool over_time) {
  const int64_t in = x.size(1);
  if (!halved) return mean_of_channels(cx, x, in / out);
  const Tensor pooled = cx.ops().avg_pool2d(cx, {x, 2});
  if (out == 2 * in) return after_zeros(cx, pooled);
  const Tensor mean = mean_of_channels(cx, pooled, in / out);
  return over_time ? cx.ops().affine(cx, {mean, 0.5, 0.0}) : mean;
}

bool lengthens(int64_t in, int64_t out, bool over_time) {
  return out % in == 0 || (in % out == 0 && places_of_square(over_time) % (in / out) == 0);
}

Tensor lengthened(Context& /*cx*/, const Tensor& x, int64_t out, bool over_time) {
  const int64_t in = x.size(1), rows = x.size(0), height = x.size(2), width = x.size(3);
  const int64_t channels = std::max<int64_t>(in / out, 1), copies = std::max<int64_t>(out / in, 1);
  // Of the channels that become one, those of the last frame's square: all its pixels are one
  // channel's, or each row is, or each pixel.
  const int64_t used =
      std::max<int64_t>(channels * pixels_of_square / places_of_square(over_time), 1);
  const int64_t across = used == pixels_of_square ? 2 : 1, down = used / across;
  Tensor last = nn::tokens_of(x)
                    .view({rows, height, width, in / channels, channels})
                    .narrow(4, channels - used, used)
                    .unflatten(4, {down, across});
  // {B, H, W, C, copies, 2, 2} -> {B, H, 2, W, 2, C copies}.
  Tensor square = last.unsqueeze(4).expand({-1, -1, -1, -1, copies, 2, 2});
  Tensor pixels = square.permute({0, 1, 5, 2, 6, 3, 4}).reshape({rows, 4 * height * width, out});
  return nn::image_of(pixels, 2 * height, 2 * width);
}

}  // namespace omnirt
