#include "ops/frames.hpp"

#include <ATen/ops/index_select.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tensor.h>

#include <algorithm>

#include "base/ensure.hpp"
#include "ops/sizes.hpp"

namespace omnirt::ops {

Shape SwapRows::shape(const SwapRows& args) {
  ensure(args.x.dim() == 3 && args.outer > 0 && args.x.size(0) % args.outer == 0,
         "{} rows do not hold batches of {}", args.x.size(0), args.outer);
  return {args.x.size(0) / args.outer * args.x.size(1), args.outer, args.x.size(2)};
}

Tensor SwapRows::reference(const SwapRows& args) {
  auto [rows, inner, dim] = std::tuple{args.x.size(0), args.x.size(1), args.x.size(2)};
  return args.x.reshape({rows / args.outer, args.outer, inner, dim})
      .transpose(1, 2)
      .reshape(shape(args));
}

Shape TakeRows::shape(const TakeRows& args) {
  Shape shape = args.x.sizes().vec();
  ensure(!shape.empty(), "a number has no rows");
  for (int64_t row : args.rows)
    ensure(row >= 0 && row < shape[0], "row {} of {} rows", row, shape[0]);
  shape[0] = static_cast<int64_t>(args.rows.size());
  return shape;
}

Tensor TakeRows::reference(const TakeRows& args) {
  Shape wanted = shape(args);
  auto follows = [](int64_t a, int64_t b) { return b != a + 1; };
  if (args.rows.empty() || std::ranges::adjacent_find(args.rows, follows) == args.rows.end())
    return args.x.narrow(0, args.rows.empty() ? 0 : args.rows.front(), wanted[0]);
  return at::index_select(args.x, 0, at::tensor(args.rows).to(args.x.device()));
}

Tensor Blend::reference(const Blend& args) {
  Tensor weight = at::sigmoid(args.mix.to(at::kFloat)).to(args.x.scalar_type());
  return args.switched ? at::lerp(args.x, args.other, weight)
                       : at::lerp(args.other, args.x, weight);
}

bool SwapRows::fits(const SwapRows& args) {
  return args.x.dim() == 3 && divides(args.outer, args.x.size(0));
}

bool TakeRows::fits(const TakeRows& args) {
  if (args.x.dim() == 0) return false;
  return std::ranges::all_of(args.rows,
                             [&](int64_t row) { return row >= 0 && row < args.x.size(0); });
}

bool Blend::fits(const Blend& args) {
  return has_sizes(args.other, args.x.sizes()) && has_sizes(args.mix, {1});
}

}  // namespace omnirt::ops
