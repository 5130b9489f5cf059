#include "ops/frames.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/sigmoid.h>

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

// Row by row of those that do not follow each other, not by a list of places: that would have to be
// brought to a device first, and a call that is being captured may not wait for it.
Tensor TakeRows::reference(const TakeRows& args) {
  shape(args);
  std::vector<Tensor> parts;
  for (size_t begin = 0, end = 0; begin < args.rows.size(); begin = end) {
    for (end = begin + 1; end < args.rows.size() && args.rows[end] == args.rows[end - 1] + 1;)
      ++end;
    parts.push_back(args.x.narrow(0, args.rows[begin], static_cast<int64_t>(end - begin)));
  }
  if (parts.empty()) return args.x.narrow(0, 0, 0);
  return parts.size() == 1 ? parts.front() : at::cat(parts);
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
