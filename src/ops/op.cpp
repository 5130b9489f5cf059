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

Tensor dry_reference(const std::function<Tensor()>& reference, const Shape& shape) {
  try {
    Tensor y = reference();
    bool fits = y.is_meta() && y.sizes() == at::IntArrayRef(shape);
    return fits ? y : Tensor();
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace omnirt::ops
