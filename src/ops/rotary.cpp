#include "ops/rotary.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/reciprocal.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/stack.h>

#include <algorithm>
#include <numeric>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {
namespace {

int64_t width_of(const RotaryTable& args) {
  return std::accumulate(args.axes.begin(), args.axes.end(), int64_t{0});
}

// Angles {T, dim / 2} of one axis, by the references' operations and types.
Tensor angles(const Tensor& positions, int64_t dim, const RotaryTable& args) {
  auto type = args.angles_in_fp64 ? at::kDouble : at::kFloat;
  Tensor exponent = at::arange(0, dim, 2, args.x.options().dtype(type)) / dim;
  Tensor frequency = at::reciprocal(at::pow(args.theta, exponent));
  return positions.to(type).unsqueeze(1) * frequency.unsqueeze(0);
}

}  // namespace

Shape RotaryTable::shape(const RotaryTable& args) {
  ensure(args.x.dim() == 2, "positions of {} dimensions", args.x.dim());
  return {2, args.x.size(0), width_of(args) / 2};
}

Tensor RotaryTable::reference(const RotaryTable& args) {
  ensure(fits(args), "{} axes for positions on {}", args.axes.size(), args.x.size(-1));
  std::vector<Tensor> each;
  for (size_t axis = 0; axis < args.axes.size(); ++axis)
    each.push_back(angles(args.x.select(1, static_cast<int64_t>(axis)), args.axes[axis], args));
  Tensor all = at::cat(each, 1);
  return at::stack({all.cos(), all.sin()}).to(at::kFloat);
}

Tensor Rotary::reference(const Rotary& args) {
  ensure(fits(args), "a table that does not fit heads of {} values", args.x.size(-1));
  const int64_t half = args.x.size(3) / 2;
  const bool halves = args.pairs == RotaryPairs::halves;
  Tensor x = args.x.to(at::kFloat);
  x = halves ? x.unflatten(3, {2, half}).transpose(3, 4) : x.unflatten(3, {half, 2});
  Tensor a = x.select(4, 0), b = x.select(4, 1);
  Tensor cos = args.table.select(0, 0).unsqueeze(1), sin = args.table.select(0, 1).unsqueeze(1);
  Tensor y = at::stack({a * cos - b * sin, b * cos + a * sin}, halves ? 3 : 4);
  return y.flatten(3).to(args.x.scalar_type());
}

bool RotaryTable::fits(const RotaryTable& args) {
  auto even = [](int64_t dim) { return dim > 0 && dim % 2 == 0; };
  return args.theta > 0 && !args.axes.empty() &&
         has_sizes(args.x, {any, static_cast<int64_t>(args.axes.size())}) &&
         std::all_of(args.axes.begin(), args.axes.end(), even);
}

bool Rotary::fits(const Rotary& args) {
  return args.x.dim() == 4 && args.x.size(3) % 2 == 0 &&
         has_sizes(args.table, {2, args.x.size(1), args.x.size(3) / 2}) &&
         args.table.scalar_type() == at::kFloat;
}

}  // namespace omnirt::ops
