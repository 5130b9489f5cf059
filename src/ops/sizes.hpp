#pragma once
#include "tensor/tensor.hpp"

// Whether arguments have the sizes that an op says. None of these throws, whatever the tensors are.
namespace omnirt::ops {

// As a size: any.
inline constexpr int64_t any = -1;

// Whether x has just these sizes.
bool has_sizes(const Tensor& x, at::IntArrayRef sizes);
// The same of an argument that may be absent.
inline bool absent_or_has_sizes(const Tensor* x, at::IntArrayRef sizes) {
  return !x || has_sizes(*x, sizes);
}
// Whether x broadcasts to these sizes, and no further.
bool broadcasts_to(const Tensor& x, at::IntArrayRef sizes);
// Whether `parts` equal parts make up `whole`.
inline bool divides(int64_t parts, int64_t whole) {
  return parts > 0 && whole % parts == 0;
}

}  // namespace omnirt::ops
