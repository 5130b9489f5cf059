#include "ops/samples/sampler.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <cmath>

namespace omnirt::ops {

Tensor Sampler::drawn(at::IntArrayRef sizes) {
  return at::randn(sizes, at::detail::createCPUGenerator(++count_), at::kFloat);
}

Tensor Sampler::numbers(at::IntArrayRef sizes, double scale) {
  return made((drawn(sizes) * scale).to(place_.device, place_.dtype));
}

Tensor Sampler::weight(at::IntArrayRef sizes) {
  Tensor x = drawn(sizes);
  double terms = static_cast<double>(x.numel()) / static_cast<double>(x.size(0));
  return made((x / std::sqrt(terms)).to(place_.device, place_.weight));
}

Tensor Sampler::integers(at::IntArrayRef sizes, int64_t below) {
  Tensor x = at::randint(below, sizes, at::detail::createCPUGenerator(++count_), at::kLong);
  return made(x.to(place_.device));
}

}  // namespace omnirt::ops
