// The matrices of F(4x4,3x3) and F(2x2,3x3) as straight code on vectors: one dimension at a time,
// with the common subexpressions of a pair of points +-p (Lavin and Gray, arXiv 1509.09308).
#if defined(OMNIRT_CPU_WINOGRAD_FORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_WINOGRAD_FORMS_INL_H_
#undef OMNIRT_CPU_WINOGRAD_FORMS_INL_H_
#else
#define OMNIRT_CPU_WINOGRAD_FORMS_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/simd/bf16_vector-inl.h"
#include "backends/cpu/simd/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

// F(4,3): interpolation points 0, +-1/sqrt 2, +-sqrt 2, infinity. Lavin and Gray take +-1 and +-2;
// with two pairs whose product is 1 the matrices' rows are of one size, and the rounding errors of
// the sums reach the outputs 2 to 4 times smaller, for the same number of operations (how the
// points decide the error: Barabasz et al., arXiv 1803.10986).
struct FormF4 {
  static constexpr bool rounded = false;
  static constexpr int outputs = 4, points = 6;
  static constexpr float near = 0.70710678f, far = 1.41421356f;

  static HWY_INLINE FloatVec constant(float value) { return hn::Set(FloatTag(), value); }

  // out = B^T d:   1      0  -5/2      0  1  0
  //                0  -far    -2   near  1  0    and with the odd columns' signs turned
  //                0  -near -1/2    far  1  0    and with the odd columns' signs turned
  //                0      1    0   -5/2  0  1
  static HWY_INLINE void input(const FloatVec* d, FloatVec* out) {
    const FloatVec two = constant(2.0f), half = constant(0.5f), both = constant(2.5f);
    const FloatVec even1 = hn::NegMulAdd(two, d[2], d[4]), odd1 = hn::NegMulAdd(two, d[1], d[3]);
    const FloatVec even2 = hn::NegMulAdd(half, d[2], d[4]), odd2 = hn::NegMulAdd(half, d[1], d[3]);
    out[0] = hn::Add(hn::NegMulAdd(both, d[2], d[0]), d[4]);
    out[1] = hn::MulAdd(constant(near), odd1, even1);
    out[2] = hn::NegMulAdd(constant(near), odd1, even1);
    out[3] = hn::MulAdd(constant(far), odd2, even2);
    out[4] = hn::NegMulAdd(constant(far), odd2, even2);
    out[5] = hn::Add(hn::NegMulAdd(both, d[3], d[1]), d[5]);
  }

  // out = G g:   1  0  0;   -2/3 (1  +-near  1/2);   1/6 (1  +-far  2);   0  0  1
  static HWY_INLINE void filter(const FloatVec* g, FloatVec* out) {
    const FloatVec third = constant(1.0f / 3), odd1 = constant(2 * near / 3);
    const FloatVec even1 = hn::Neg(hn::MulAdd(third, g[2], hn::Mul(constant(2.0f / 3), g[0])));
    const FloatVec even2 = hn::MulAdd(third, g[2], hn::Mul(constant(1.0f / 6), g[0]));
    const FloatVec odd2 = constant(far / 6);
    out[0] = g[0];
    out[1] = hn::NegMulAdd(odd1, g[1], even1);
    out[2] = hn::MulAdd(odd1, g[1], even1);
    out[3] = hn::MulAdd(odd2, g[1], even2);
    out[4] = hn::NegMulAdd(odd2, g[1], even2);
    out[5] = g[2];
  }

  // out = A^T m, whose columns are the powers 0..3 of each point.
  static HWY_INLINE void output(const FloatVec* m, FloatVec* out) {
    const FloatVec even1 = hn::Add(m[1], m[2]), odd1 = hn::Sub(m[1], m[2]);
    const FloatVec even2 = hn::Add(m[3], m[4]), odd2 = hn::Sub(m[3], m[4]);
    const FloatVec two = constant(2.0f), half = constant(0.5f);
    out[0] = hn::Add(hn::Add(m[0], even1), even2);
    out[1] = hn::Mul(constant(near), hn::MulAdd(two, odd2, odd1));
    out[2] = hn::MulAdd(two, even2, hn::Mul(half, even1));
    out[3] = hn::MulAdd(constant(far), hn::MulAdd(two, odd2, hn::Mul(constant(0.25f), odd1)), m[5]);
  }
};

// F(2,3): interpolation points 0, 1, -1, infinity.
struct FormF2 {
  static constexpr bool rounded = false;
  static constexpr int outputs = 2, points = 4;

  static HWY_INLINE void input(const FloatVec* d, FloatVec* out) {
    out[0] = hn::Sub(d[0], d[2]);
    out[1] = hn::Add(d[1], d[2]);
    out[2] = hn::Sub(d[2], d[1]);
    out[3] = hn::Sub(d[1], d[3]);
  }

  static HWY_INLINE void filter(const FloatVec* g, FloatVec* out) {
    const FloatVec half = hn::Set(FloatTag(), 0.5f);
    const FloatVec a = hn::Mul(hn::Add(g[0], g[2]), half);
    out[0] = g[0];
    out[1] = hn::MulAdd(g[1], half, a);
    out[2] = hn::NegMulAdd(g[1], half, a);
    out[3] = g[2];
  }

  static HWY_INLINE void output(const FloatVec* m, FloatVec* out) {
    out[0] = hn::Add(m[0], hn::Add(m[1], m[2]));
    out[1] = hn::Sub(hn::Sub(m[1], m[2]), m[3]);
  }
};

// With products of transformed numbers that are rounded to bf16.
template <class Form>
struct Rounded : Form {
  static constexpr bool rounded = true;
};

// Channels in the room of a float.
template <class Form>
constexpr size_t per_slot = Form::rounded ? 2 : 1;

// Writes a vector of transformed numbers; rounded, they take half a vector.
template <class Form>
HWY_INLINE void store_point(FloatVec value, float* to) {
#if OMNIRT_BF16_VECTORS
  if constexpr (Form::rounded) return store_nearest_bf16(value, to);
#endif
  hn::StoreU(value, FloatTag(), to);
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
