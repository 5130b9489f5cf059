#pragma once
#include <algorithm>
#include <cstdint>

// Arithmetic of sizes and places that the kernels share.
namespace omnirt::cpu {

// For a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
constexpr int64_t round_up(int64_t a, int64_t b) {
  return ceil_div(a, b) * b;
}

// The row (column) of x under row `position` of up(x), nearest-neighbour to up_size (0: none); -1
// in the padding. As ATen's nearest mode (aten/src/ATen/native/UpSample.h), whose scale is a float.
inline int64_t source_index(int64_t position, int64_t size, int64_t up_size) {
  const int64_t limit = up_size > 0 ? up_size : size;
  if (position < 0 || position >= limit) return -1;
  if (up_size <= 0 || up_size == size) return position;
  const float scale = static_cast<float>(size) / static_cast<float>(up_size);
  return std::min(static_cast<int64_t>(static_cast<float>(position) * scale), size - 1);
}

}  // namespace omnirt::cpu
