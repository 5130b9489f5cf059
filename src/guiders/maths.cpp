#include "guiders/maths.hpp"

#include <ATen/ops/std.h>
#include <ATen/ops/sum.h>

namespace omnirt {
namespace {

std::vector<int64_t> all_but_first(const Tensor& x) {
  std::vector<int64_t> dims;
  for (int64_t d = 1; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}

// Standard deviation of each image's prediction, {n, 1, ...}.
Tensor spread(const Tensor& x) {
  return at::std(x, at::IntArrayRef(all_but_first(x)), /*unbiased=*/true, /*keepdim=*/true);
}

}  // namespace

Tensor guided(const Tensor& cond, const Tensor& uncond, double scale) {
  return uncond + scale * (cond - uncond);
}

Tensor rescaled(const Tensor& prediction, const Tensor& cond, double rescale) {
  if (rescale == 0.0) return prediction;
  Tensor full = prediction * (spread(cond) / spread(prediction));
  return rescale * full + (1 - rescale) * prediction;
}

Tensor sum_by_image(const Tensor& x) {
  return at::sum(x, all_but_first(x), /*keepdim=*/true);
}

}  // namespace omnirt
