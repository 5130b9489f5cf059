#include "ops/sizes.hpp"

namespace omnirt::ops {

bool has_sizes(const Tensor& x, at::IntArrayRef sizes) {
  if (x.dim() != static_cast<int64_t>(sizes.size())) return false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != any && x.size(static_cast<int64_t>(i)) != sizes[i]) return false;
  }
  return true;
}

bool broadcasts_to(const Tensor& x, at::IntArrayRef sizes) {
  const auto rank = static_cast<int64_t>(sizes.size());
  if (x.dim() > rank) return false;
  for (int64_t i = 1; i <= x.dim(); ++i) {
    int64_t wanted = sizes[static_cast<size_t>(rank - i)];
    if (x.size(-i) != wanted && x.size(-i) != 1) return false;
  }
  return true;
}

}  // namespace omnirt::ops
