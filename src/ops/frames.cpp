#include "ops/frames.hpp"

#include <ATen/ops/lerp.h>
#include <ATen/ops/sigmoid.h>

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

Tensor Blend::reference(const Blend& args) {
  Tensor weight = at::sigmoid(args.mix.to(at::kFloat)).to(args.x.scalar_type());
  return args.switched ? at::lerp(args.x, args.other, weight)
                       : at::lerp(args.other, args.x, weight);
}

bool SwapRows::fits(const SwapRows& args) {
  return args.x.dim() == 3 && divides(args.outer, args.x.size(0));
}

bool Blend::fits(const Blend& args) {
  return has_sizes(args.other, args.x.sizes()) && has_sizes(args.mix, {1});
}

}  // namespace omnirt::ops
