#include "ops/op.hpp"

#include <ATen/ops/empty.h>

namespace omnirt::ops {

Tensor meta_tensor(const Shape& shape, const Tensor& like) {
  at::ScalarType dtype = at::isFloatingType(like.scalar_type()) ? like.scalar_type() : at::kFloat;
  return at::empty(shape, at::TensorOptions().dtype(dtype).device(at::kMeta));
}

}  // namespace omnirt::ops
