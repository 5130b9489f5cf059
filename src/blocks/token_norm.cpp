#include "blocks/token_norm.hpp"

#include <ATen/ops/upsample_nearest2d.h>

#include "nn/patches.hpp"

namespace omnirt::blocks {

Tensor as_long_as_cond(const Tensor& guided, const Tensor& cond) {
  auto lengths = [](const Tensor& x) {
    return nn::packed_patches(x).norm(2, {1}, /*keepdim=*/true);
  };
  Tensor ratio = lengths(cond) / lengths(guided);
  return guided * at::upsample_nearest2d(ratio, {guided.size(2), guided.size(3)});
}

}  // namespace omnirt::blocks
