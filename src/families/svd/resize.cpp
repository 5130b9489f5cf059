#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/reflection_pad2d.h>
#include <ATen/ops/upsample_bicubic2d.h>

#include <algorithm>

#include "families/svd/blocks.hpp"

namespace omnirt::families {
namespace {

// A Gaussian for a side that shrinks by `factor`, {taps}, an odd number; one that changes nothing
// where it grows.
Tensor gaussian(double factor) {
  double sigma = std::max((factor - 1.0) / 2.0, 0.001);
  auto taps = static_cast<int64_t>(std::max(2.0 * 2 * sigma, 3.0));
  if (taps % 2 == 0) ++taps;
  Tensor x = at::arange(taps, at::kFloat) - taps / 2;
  auto width = static_cast<float>(sigma);
  Tensor weights = at::exp(-x.pow(2.0) / (2 * width * width));
  return weights / weights.sum();
}

// The same filter over each of three channels; edges are mirrored.
Tensor filtered(const Tensor& image, const Tensor& kernel, bool rows) {
  int64_t reach = kernel.size(0) / 2;
  Tensor weight = rows ? kernel.view({1, 1, 1, -1}) : kernel.view({1, 1, -1, 1});
  Tensor padded = rows ? at::reflection_pad2d(image, {reach, reach, 0, 0})
                       : at::reflection_pad2d(image, {0, 0, reach, reach});
  int64_t channels = image.size(1);
  Tensor each = weight.expand({channels, 1, weight.size(2), weight.size(3)});
  return at::conv2d(padded, each, {}, at::IntArrayRef{1, 1}, at::IntArrayRef{0, 0},
                    at::IntArrayRef{1, 1}, channels);
}

}  // namespace

Tensor resize_with_antialiasing(const Tensor& image, int64_t side) {
  auto factor = [&](int64_t dim) {
    return static_cast<double>(image.size(dim)) / static_cast<double>(side);
  };
  Tensor blurred = filtered(image, gaussian(factor(3)), true);
  blurred = filtered(blurred, gaussian(factor(2)), false);
  return at::upsample_bicubic2d(blurred, {side, side}, /*align_corners=*/true);
}

}  // namespace omnirt::families
