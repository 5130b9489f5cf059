#include "ops/op.hpp"

#include <ATen/ops/empty.h>

namespace omnirt::ops {

Tensor meta_tensor(const Shape& shape, const Tensor& like) {
  at::ScalarType dtype = at::isFloatingType(like.scalar_type()) ? like.scalar_type() : at::kFloat;
  return at::empty(shape, at::TensorOptions().dtype(dtype).device(at::kMeta));
}

Tensor meta_bytes(size_t bytes) {
  return at::empty({static_cast<int64_t>(bytes)},
                   at::TensorOptions().dtype(at::kByte).device(at::kMeta));
}

}  // namespace omnirt::ops
