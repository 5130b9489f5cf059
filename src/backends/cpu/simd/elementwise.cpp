#include "backends/cpu/simd/elementwise.hpp"

#include "backends/cpu/simd/elementwise_activation.hpp"
#include "backends/cpu/simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/simd/elementwise.cpp"
#include <hwy/foreach_target.h>

#include <hwy/highway.h>

#include "backends/cpu/simd/elementwise_loops-inl.h"
#include "backends/cpu/simd/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {

void activate_kernel(const float* x, int64_t count, Activation activation, float* y) {
  with_activation(activation, [&](auto kind) {
    map_floats(count, y, [&](auto tag, int64_t i) HWY_ATTR {
      return HWY_NAMESPACE::activate<kind()>(hn::LoadU(tag, x + i));
    });
  });
}

void add_kernel(const float* x, const float* other, int64_t count, float scale, float* y) {
  map_floats(count, y, [&](auto tag, int64_t i) HWY_ATTR {
    return hn::Mul(hn::Add(hn::LoadU(tag, x + i), hn::LoadU(tag, other + i)), hn::Set(tag, scale));
  });
}

void affine_kernel(const float* x, int64_t count, float scale, float shift, float* y) {
  map_floats(count, y, [&](auto tag, int64_t i) HWY_ATTR {
    return hn::MulAdd(hn::LoadU(tag, x + i), hn::Set(tag, scale), hn::Set(tag, shift));
  });
}

void soft_clamp_kernel(const float* x, int64_t count, float bound, float* y) {
  map_floats(count, y, [&](auto tag, int64_t i) HWY_ATTR {
    const auto by = hn::Set(tag, bound);
    return hn::Mul(HWY_NAMESPACE::tanh(hn::Div(hn::LoadU(tag, x + i), by)), by);
  });
}

void multiply_kernel(const float* x, const float* other, int64_t count, float* y) {
  map_floats(count, y, [&](auto tag, int64_t i) HWY_ATTR {
    return hn::Mul(hn::LoadU(tag, x + i), hn::LoadU(tag, other + i));
  });
}

// y[r][i] = op(x[r][i], x[r][width + i]).
template <class Op>
HWY_INLINE void join_halves(const float* x, int64_t rows, int64_t width, int64_t x_stride, float* y,
                            const Op& op) {
  for_parts(rows, 2 * width, [&](int64_t first, int64_t count) HWY_ATTR {
    for (int64_t row = first; row < first + count; ++row) {
      const float* from = x + row * x_stride;
      for_vectors(width, [&](auto tag, int64_t i) HWY_ATTR {
        const auto a = hn::LoadU(tag, from + i), b = hn::LoadU(tag, from + width + i);
        hn::StoreU(op(a, b), tag, y + row * width + i);
      });
    }
  });
}

void geglu_kernel(const float* x, int64_t rows, int64_t width, int64_t x_stride, float* y) {
  join_halves(x, rows, width, x_stride, y,
              [](auto a, auto b) HWY_ATTR { return hn::Mul(a, gelu(b)); });
}

void swiglu_kernel(const float* x, int64_t rows, int64_t width, int64_t x_stride, float* y) {
  join_halves(x, rows, width, x_stride, y,
              [](auto a, auto b) HWY_ATTR { return hn::Mul(silu(a), b); });
}

// op(tag, x, channel offset into the sample's terms, channel) for each pixel.
template <class Op>
HWY_INLINE void map_pixels(const PixelShape& shape, const float* x, float* y, int64_t terms_stride,
                           const Op& op) {
  for_parts(shape.batch * shape.pixels, shape.channels, [&](int64_t first, int64_t count) HWY_ATTR {
    for (int64_t pixel = first; pixel < first + count; ++pixel) {
      const int64_t at = pixel * shape.channels, terms = pixel / shape.pixels * terms_stride;
      for_vectors(shape.channels, [&](auto tag, int64_t c) HWY_ATTR {
        hn::StoreU(op(tag, hn::LoadU(tag, x + at + c), terms + c), tag, y + at + c);
      });
    }
  });
}

void modulate_kernel(const PixelShape& shape, const float* x, const float* scale,
                     const float* shift, int64_t terms_stride, float* y) {
  map_pixels(shape, x, y, terms_stride, [&](auto tag, auto value, int64_t c) HWY_ATTR {
    const auto by = hn::Add(hn::Set(tag, 1.0f), hn::LoadU(tag, scale + c));
    return hn::MulAdd(value, by, hn::LoadU(tag, shift + c));
  });
}

void gate_kernel(const PixelShape& shape, const float* x, const float* factor, int64_t terms_stride,
                 const float* residual, float* y) {
  for_parts(shape.batch * shape.pixels, shape.channels, [&](int64_t first, int64_t count) HWY_ATTR {
    for (int64_t row = first; row < first + count; ++row) {
      const float* by = factor + row / shape.pixels * terms_stride;
      const int64_t at = row * shape.channels;
      for_vectors(shape.channels, [&](auto tag, int64_t c) HWY_ATTR {
        const auto value = hn::LoadU(tag, x + at + c), scale = hn::LoadU(tag, by + c);
        const auto result = residual ? hn::MulAdd(value, scale, hn::LoadU(tag, residual + at + c))
                                     : hn::Mul(value, scale);
        hn::StoreU(result, tag, y + at + c);
      });
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace omnirt::cpu {

HWY_EXPORT(activate_kernel);
HWY_EXPORT(add_kernel);
HWY_EXPORT(affine_kernel);
HWY_EXPORT(soft_clamp_kernel);
HWY_EXPORT(geglu_kernel);
HWY_EXPORT(swiglu_kernel);
HWY_EXPORT(multiply_kernel);
HWY_EXPORT(gate_kernel);
HWY_EXPORT(modulate_kernel);

void activate(const float* x, int64_t count, Activation activation, float* y) {
  HWY_DYNAMIC_DISPATCH(activate_kernel)(x, count, activation, y);
}

void add(const float* x, const float* other, int64_t count, float scale, float* y) {
  HWY_DYNAMIC_DISPATCH(add_kernel)(x, other, count, scale, y);
}

void affine(const float* x, int64_t count, float scale, float shift, float* y) {
  HWY_DYNAMIC_DISPATCH(affine_kernel)(x, count, scale, shift, y);
}

void soft_clamp(const float* x, int64_t count, float bound, float* y) {
  HWY_DYNAMIC_DISPATCH(soft_clamp_kernel)(x, count, bound, y);
}

void geglu(const float* x, int64_t rows, int64_t width, int64_t x_stride, float* y) {
  HWY_DYNAMIC_DISPATCH(geglu_kernel)(x, rows, width, x_stride, y);
}

void swiglu(const float* x, int64_t rows, int64_t width, int64_t x_stride, float* y) {
  HWY_DYNAMIC_DISPATCH(swiglu_kernel)(x, rows, width, x_stride, y);
}

void multiply(const float* x, const float* other, int64_t count, float* y) {
  HWY_DYNAMIC_DISPATCH(multiply_kernel)(x, other, count, y);
}

void gate(const PixelShape& shape, const float* x, const float* factor, int64_t terms_stride,
          const float* residual, float* y) {
  HWY_DYNAMIC_DISPATCH(gate_kernel)(shape, x, factor, terms_stride, residual, y);
}

void modulate(const PixelShape& shape, const float* x, const float* scale, const float* shift,
              int64_t terms_stride, float* y) {
  HWY_DYNAMIC_DISPATCH(modulate_kernel)(shape, x, scale, shift, terms_stride, y);
}

}  // namespace omnirt::cpu
#endif
