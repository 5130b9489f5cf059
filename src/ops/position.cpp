#include "ops/position.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/log.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {
namespace {

// Sines and cosines of `count` positions, {count, dim}: positions in fp32 and frequencies in fp64,
// as the reference.
Tensor waves(int64_t count, int64_t dim, const AddPositions& args) {
  auto options = at::TensorOptions().device(args.x.device());
  double spacing = static_cast<double>(count) / static_cast<double>(args.base_size);
  Tensor at_positions = at::arange(count, options.dtype(at::kFloat)) / spacing;
  at_positions = (at_positions / args.interpolation_scale).to(at::kDouble);
  Tensor exponent =
      at::arange(dim / 2, options.dtype(at::kDouble)) / (static_cast<double>(dim) / 2);
  Tensor angle = at_positions.unsqueeze(1) * (1.0 / at::pow(10000.0, exponent)).unsqueeze(0);
  return at::cat({angle.sin(), angle.cos()}, 1).to(at::kFloat);
}

// Which bucket each distance key - query falls into, from 1 - length to length - 1.
Tensor buckets_of(int64_t length, int64_t buckets, int64_t max_distance, const at::Device& device) {
  auto options = at::TensorOptions().dtype(at::kLong).device(device);
  Tensor distance = at::arange(1 - length, length, options);
  int64_t half = buckets / 2, exact = half / 2;
  Tensor behind = distance.gt(0).to(at::kLong) * half;
  distance = distance.abs();
  double widest = std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  Tensor far = at::log(distance.to(at::kFloat) / static_cast<double>(exact)) / widest *
               static_cast<double>(half - exact);
  far = (far.to(at::kLong) + exact).clamp_max(half - 1);
  return behind + at::where(distance < exact, distance, far);
}

}  // namespace

Tensor AddPositions::reference(const AddPositions& args) {
  int64_t half = args.x.size(2) / 2;
  ensure(args.x.size(1) == args.height * args.width, "{} tokens for {} by {} places",
         args.x.size(1), args.height, args.width);
  Tensor columns = waves(args.width, half, args).unsqueeze(0);
  Tensor rows = waves(args.height, half, args).unsqueeze(1);
  Tensor positions = at::cat({columns.expand({args.height, args.width, half}),
                              rows.expand({args.height, args.width, half})},
                             2);
  positions = positions.view({1, args.height * args.width, 2 * half});
  return (args.x + positions).to(args.x.scalar_type());
}

Shape RelativePositionBias::shape(const RelativePositionBias& args) {
  return {args.mask ? args.mask->size(0) : 1, args.x.size(1), args.length, args.length};
}

Tensor RelativePositionBias::reference(const RelativePositionBias& args) {
  Tensor buckets = buckets_of(args.length, args.x.size(0), args.max_distance, args.x.device());
  // {heads, 2 length - 1}: a query's biases are a stretch of it. Tensors of length^2 are large, so
  // there is none but the result.
  Tensor by_distance = at::embedding(args.x, buckets).to(args.dtype).t();
  Tensor bias = at::empty(shape(args), by_distance.options());
  for (int64_t query = 0; query < args.length; ++query) {
    Tensor stretch = by_distance.narrow(1, args.length - 1 - query, args.length);
    bias.select(2, query).copy_(stretch.unsqueeze(0));
  }
  if (!args.mask) return bias;
  // The lowest number, as in the reference: it stays finite for a row that keeps nothing.
  double lowest = args.dtype == at::kHalf ? -65504.0 : -std::numeric_limits<float>::max();
  if (args.dtype == at::kBFloat16) lowest = -3.3895313892515355e38;
  Tensor dropped = args.mask->to(at::kBool).logical_not().unsqueeze(1).unsqueeze(1);
  return bias.masked_fill_(dropped, lowest);
}

Tensor TokenPositions::reference(const TokenPositions& args) {
  auto options = at::TensorOptions().dtype(at::kFloat).device(args.x.device());
  Tensor y = at::zeros(shape(args), options);
  y.narrow(0, 0, args.text).select(1, 3).copy_(at::arange(args.text, options));
  Tensor image = y.narrow(0, args.text, args.height * args.width);
  image = image.view({args.height, args.width, 4});
  image.select(2, 1).copy_(at::arange(args.height, options).unsqueeze(1));
  image.select(2, 2).copy_(at::arange(args.width, options).unsqueeze(0));
  return y;
}

bool AddPositions::fits(const AddPositions& args) {
  return args.height > 0 && args.width > 0 && args.base_size > 0 &&
         has_sizes(args.x, {any, args.height * args.width, any}) && args.x.size(2) % 4 == 0;
}

bool RelativePositionBias::fits(const RelativePositionBias& args) {
  return args.x.dim() == 2 && args.length > 0 && absent_or_has_sizes(args.mask, {any, args.length});
}

bool TokenPositions::fits(const TokenPositions& args) {
  return args.text >= 0 && args.height >= 0 && args.width >= 0;
}

}  // namespace omnirt::ops
