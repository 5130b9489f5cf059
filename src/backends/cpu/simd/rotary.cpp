#include "backends/cpu/simd/rotary.hpp"

#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/rotary.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/elementwise_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

template <class V>
struct Turned {
  V a, b;
};

template <class V>
HWY_INLINE Turned<V> turn(V a, V b, V cosine, V sine) {
  return {hn::NegMulAdd(b, sine, hn::Mul(a, cosine)), hn::MulAdd(a, sine, hn::Mul(b, cosine))};
}

HWY_INLINE void turn_halves(const float* x, const float* cosines, const float* sines, int64_t half,
                            float* y) {
  for_vectors(half, [&](auto tag, int64_t i) HWY_ATTR {
    const auto turned = turn(hn::LoadU(tag, x + i), hn::LoadU(tag, x + half + i),
                             hn::LoadU(tag, cosines + i), hn::LoadU(tag, sines + i));
    hn::StoreU(turned.a, tag, y + i);
    hn::StoreU(turned.b, tag, y + half + i);
  });
}

HWY_INLINE void turn_neighbours(const float* x, const float* cosines, const float* sines,
                                int64_t half, float* y) {
  for_vectors(half, [&](auto tag, int64_t i) HWY_ATTR {
    hn::Vec<decltype(tag)> a, b;
    hn::LoadInterleaved2(tag, x + 2 * i, a, b);
    const auto turned = turn(a, b, hn::LoadU(tag, cosines + i), hn::LoadU(tag, sines + i));
    hn::StoreInterleaved2(turned.a, turned.b, tag, y + 2 * i);
  });
}

HWY_INLINE void turn_token(const RotaryArgs& args, int64_t sample, int64_t token) {
  const int64_t half = args.head_dim / 2;
  const float* x = args.x.data + sample * args.x.batch_stride + token * args.x.token_stride;
  float* y = args.y.data + sample * args.y.batch_stride + token * args.y.token_stride;
  const float* cosines = args.cosines + token * half;
  const float* sines = args.sines + token * half;
  for (int64_t head = 0; head < args.heads; ++head) {
    const float* from = x + head * args.x.head_stride;
    float* to = y + head * args.y.head_stride;
    args.halves ? turn_halves(from, cosines, sines, half, to)
                : turn_neighbours(from, cosines, sines, half, to);
  }
}

void rotary_kernel(const RotaryArgs& args) {
  for_parts(args.batch * args.tokens, args.heads * args.head_dim,
            [&](int64_t first, int64_t count) HWY_ATTR {
              for (int64_t row = first; row < first + count; ++row)
                turn_token(args, row / args.tokens, row % args.tokens);
            });
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omnirt::cpu {

HWY_EXPORT(rotary_kernel);

void rotary(const RotaryArgs& args) {
  HWY_DYNAMIC_DISPATCH(rotary_kernel)(args);
}

}  // namespace omnirt::cpu
#endif
