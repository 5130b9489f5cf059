#include "ops/embedding.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/exp.h>

#include <cmath>

#include "ops/sizes.hpp"

namespace omnirt::ops {

Shape Embedding::shape(const Embedding& args) {
  Shape shape = args.x.sizes().vec();
  shape.push_back(args.weight.size(1));
  return shape;
}

Tensor Embedding::reference(const Embedding& args) {
  Tensor rows = at::embedding(args.weight, args.x);
  return args.dtype ? rows.to(*args.dtype) : rows;
}

Tensor TimestepEmbedding::reference(const TimestepEmbedding& args) {
  int64_t half = args.dim / 2;
  // In fp32 and in the reference's order of operations: the sines of large arguments feel the last
  // bit.
  auto options = at::TensorOptions().dtype(at::kFloat).device(args.x.device());
  Tensor exponent = -std::log(10000.0) * at::arange(0, half, options);
  Tensor frequency = at::exp(exponent / (static_cast<double>(half) - args.freq_shift));
  Tensor angle = args.x.to(at::kFloat).unsqueeze(1) * frequency.unsqueeze(0);
  Tensor y = args.flip_sin_to_cos ? at::cat({angle.cos(), angle.sin()}, 1)
                                  : at::cat({angle.sin(), angle.cos()}, 1);
  return args.dim % 2 == 0 ? y : at::constant_pad_nd(y, {0, 1});
}

bool Embedding::fits(const Embedding& args) {
  return args.weight.dim() == 2;
}

bool TimestepEmbedding::fits(const TimestepEmbedding& args) {
  return args.x.dim() == 1 && args.dim > 0;
}

}  // namespace omnirt::ops
