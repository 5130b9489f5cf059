// exp, erf and tanh over vectors, to about one unit in the last place, and the activations built
// on them. NaN stays NaN, infinities and huge values yield the limits. Polynomials: weighted
// minimax fits on each range; the split of erf into an odd polynomial and 1 - exp(polynomial)
// follows N. Juffa's float erff. A Highway per-target header.
#if defined(OMNIRT_CPU_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_MATH_INL_H_
#undef OMNIRT_CPU_MATH_INL_H_
#else
#define OMNIRT_CPU_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include "backends/cpu/simd/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// c0 + x * (c1 + x * (...)).
template <class V>
HWY_INLINE V horner(V /*x*/, float c) {
  return hn::Set(hn::DFromV<V>(), c);
}
template <class V, class... Rest>
HWY_INLINE V horner(V x, float c, Rest... rest) {
  return hn::MulAdd(x, horner(x, rest...), hn::Set(hn::DFromV<V>(), c));
}

// 2^n for whole n in [-126, 127].
template <class V>
HWY_INLINE V power_of_two(V n) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<hn::DFromV<V>> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(di, n), hn::Set(di, 127))));
}

// e^x: 0 below -104, infinity above 88.73, subnormals in between. Error below 1.1 ulp.
template <class V>
HWY_INLINE V exp(V x) {
  const hn::DFromV<V> d;
  // Clamped so that n fits; NaN is restored at the end, as minima and maxima may drop it.
  const V low = hn::Set(d, -105.0f), high = hn::Set(d, 90.0f);
  V t = hn::IfThenElse(hn::Lt(x, low), low, x);
  t = hn::IfThenElse(hn::Gt(t, high), high, t);
  t = hn::IfThenElse(hn::Eq(x, x), t, hn::Zero(d));
  const V n = hn::Round(hn::Mul(t, hn::Set(d, 1.44269504f)));
  // ln 2 in two parts: the first has so few bits that n times it is exact.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), t);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  const V p = horner(r, 0.49999994f, 0.16666521f, 0.041668288f, 0.0083687035f, 0.0013818939f);
  const V y = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), hn::Set(d, 1.0f));
  // 2^n in two factors, each of which is a normal number.
  const V half = hn::Floor(hn::Mul(n, hn::Set(d, 0.5f)));
  const V scaled = hn::Mul(hn::Mul(y, power_of_two(half)), power_of_two(hn::Sub(n, half)));
  return hn::IfThenElse(hn::Eq(x, x), scaled, x);
}

template <class V>
HWY_INLINE V erf(V x) {
  const hn::DFromV<V> d;
  const V t = hn::Abs(x), s = hn::Mul(x, x), one = hn::Set(d, 1.0f);
  const V small = hn::MulAdd(x,
                             horner(s, 0.12837915f, -0.37612489f, 0.11281731f, -0.026762964f,
                                    0.0049873474f, -5.9595495e-4f),
                             x);
  // Beyond 4, erf is 1 in single precision, and the polynomial is not fitted.
  const V u = hn::IfThenElse(hn::Gt(t, hn::Set(d, 4.0f)), hn::Set(d, 4.0f), t);
  const V q = horner(u, 0.12864849f, 0.63515133f, 0.10623685f, -0.023762019f, 0.0036424296f,
                     -3.2279405e-4f, 1.1230034e-5f);
  const V large = hn::Sub(one, exp(hn::Neg(hn::MulAdd(u, q, u))));
  return hn::IfThenElse(hn::Lt(t, hn::Set(d, 0.92f)), small, hn::CopySign(large, x));
}

template <class V>
HWY_INLINE V tanh(V x) {
  const hn::DFromV<V> d;
  const V t = hn::Abs(x), s = hn::Mul(x, x), one = hn::Set(d, 1.0f);
  const V p = horner(s, -0.33333278f, 0.13331321f, -0.053729132f, 0.020603238f, -0.0056636152f);
  const V small = hn::MulAdd(hn::Mul(x, s), p, x);
  const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(exp(hn::Add(t, t)), one)));
  return hn::IfThenElse(hn::Lt(t, hn::Set(d, 0.625f)), small, hn::CopySign(large, x));
}

template <class V>
HWY_INLINE V sigmoid(V x) {
  const V one = hn::Set(hn::DFromV<V>(), 1.0f);
  return hn::Div(one, hn::Add(one, exp(hn::Neg(x))));
}

template <class V>
HWY_INLINE V silu(V x) {
  const V one = hn::Set(hn::DFromV<V>(), 1.0f);
  return hn::Div(x, hn::Add(one, exp(hn::Neg(x))));
}

// 0.5 x (1 + erf(x / sqrt 2)).
template <class V>
HWY_INLINE V gelu(V x) {
  const hn::DFromV<V> d;
  const V e = erf(hn::Mul(x, hn::Set(d, 0.70710678f)));
  return hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), hn::Add(hn::Set(d, 1.0f), e));
}

// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
template <class V>
HWY_INLINE V gelu_tanh(V x) {
  const hn::DFromV<V> d;
  const V cube = hn::Mul(hn::Mul(x, x), x);
  const V inner = hn::Mul(hn::Set(d, 0.79788456f), hn::MulAdd(hn::Set(d, 0.044715f), cube, x));
  return hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), hn::Add(hn::Set(d, 1.0f), tanh(inner)));
}

template <class V>
HWY_INLINE V quick_gelu(V x) {
  return hn::Mul(x, sigmoid(hn::Mul(x, hn::Set(hn::DFromV<V>(), 1.702f))));
}

template <class V>
HWY_INLINE V relu(V x) {
  const V zero = hn::Zero(hn::DFromV<V>());
  return hn::IfThenElse(hn::Lt(x, zero), zero, x);
}

template <class V>
HWY_INLINE V leaky_relu(V x) {
  const hn::DFromV<V> d;
  const V scaled = hn::Mul(x, hn::Set(d, static_cast<float>(ops::leaky_slope)));
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), scaled, x);
}

template <Activation kind, class V>
HWY_INLINE V activate(V x) {
  if constexpr (kind == Activation::silu) return silu(x);
  if constexpr (kind == Activation::gelu) return gelu(x);
  if constexpr (kind == Activation::gelu_tanh) return gelu_tanh(x);
  if constexpr (kind == Activation::quick_gelu) return quick_gelu(x);
  if constexpr (kind == Activation::relu) return relu(x);
  if constexpr (kind == Activation::leaky_relu) return leaky_relu(x);
  return x;
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
