// Loops over rows of floats that all elementwise kernels and norms share.
// A Highway per-target header.
#if defined(OMNIRT_CPU_ELEMENTWISE_LOOPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_ELEMENTWISE_LOOPS_INL_H_
#undef OMNIRT_CPU_ELEMENTWISE_LOOPS_INL_H_
#else
#define OMNIRT_CPU_ELEMENTWISE_LOOPS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "backends/cpu/simd/micro_kernel-inl.h"
#include "backends/cpu/simd/thread_team.hpp"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Calls body(tag, i) for i = 0, lanes, ..: with whole vectors, then one by one.
template <class Body>
HWY_INLINE void for_vectors(int64_t count, const Body& body) {
  constexpr int64_t lanes = float_lanes;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(FloatTag(), i);
  for (; i < count; ++i) body(hn::CappedTag<float, 1>(), i);
}

// A thread is worth waking for about this many floats: 64 KB, ten microseconds of copying.
constexpr int64_t item_floats = 16384;

// Calls body(first, count) for parts of [0, count), each of which touches about item_floats floats
// when one element counts for `width` of them; on one thread unless there are at least three parts.
template <class Body>
HWY_INLINE void for_parts(int64_t count, int64_t width, const Body& body) {
  const int64_t part = std::max<int64_t>(1, item_floats / std::max<int64_t>(1, width));
  const int64_t parts = (count + part - 1) / part;
  if (parts < 3) return body(int64_t{0}, count);
  parallel_for(parts,
               [&](int64_t item, int) { body(item * part, std::min(part, count - item * part)); });
}

// y[i] = op(tag, i) over contiguous arrays.
template <class Op>
HWY_INLINE void map_floats(int64_t count, float* y, const Op& op) {
  // Parts are whole cache lines, so that the split changes no bit: the same elements are computed
  // by whole vectors, and the same few last ones one by one.
  for_parts(count, 1, [&](int64_t first, int64_t part) HWY_ATTR {
    for_vectors(part, [&](auto tag, int64_t i)
                          HWY_ATTR { hn::StoreU(op(tag, first + i), tag, y + first + i); });
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
