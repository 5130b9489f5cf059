#include "ops/grouped_conv2d.hpp"

#include <ATen/ops/conv2d.h>

#include <optional>

#include "ops/sizes.hpp"

namespace omnirt::ops {

// Weights and biases may be stored in another type.
Tensor GroupedConv2d::reference(const GroupedConv2d& args) {
  const at::ScalarType type = args.x.scalar_type();
  const int64_t around = args.weight.size(2) / 2;
  std::optional<Tensor> bias;
  if (args.bias) bias = args.bias->to(type);
  return at::conv2d(args.x, args.weight.to(type), bias, {1, 1}, {around, around}, {1, 1},
                    args.groups);
}

bool GroupedConv2d::fits(const GroupedConv2d& args) {
  if (args.x.dim() != 4 || args.weight.dim() != 4 || !divides(args.groups, args.x.size(1)) ||
      !divides(args.groups, args.weight.size(0))) {
    return false;
  }
  const int64_t out = args.weight.size(0), side = args.weight.size(2);
  return side % 2 == 1 && args.x.size(2) > 0 && args.x.size(3) > 0 &&
         has_sizes(args.weight, {out, args.x.size(1) / args.groups, side, side}) &&
         absent_or_has_sizes(args.bias, {out});
}

}  // namespace omnirt::ops
