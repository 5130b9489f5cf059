// The end of a product: a tile of sums -> y, with biases, residual and activation. A Highway
// per-target header.
#if defined(OMNIRT_CPU_GEMM_EPILOGUE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OMNIRT_CPU_GEMM_EPILOGUE_INL_H_
#undef OMNIRT_CPU_GEMM_EPILOGUE_INL_H_
#else
#define OMNIRT_CPU_GEMM_EPILOGUE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "backends/cpu/simd/gemm_product.hpp"
#include "backends/cpu/simd/math-inl.h"
#include "backends/cpu/simd/micro_kernel-inl.h"

HWY_BEFORE_NAMESPACE();
namespace omnirt::cpu {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Up to a vector of floats; what is past `count` is never touched.
HWY_INLINE FloatVec load_some(const float* from, size_t count) {
  if (count >= float_lanes) return hn::LoadU(FloatTag(), from);
  float part[float_lanes] = {};
  std::memcpy(part, from, count * sizeof(float));
  return hn::LoadU(FloatTag(), part);
}
HWY_INLINE void store_some(FloatVec value, float* to, size_t count) {
  if (count >= float_lanes) return hn::StoreU(value, FloatTag(), to);
  float part[float_lanes];
  hn::StoreU(value, FloatTag(), part);
  std::memcpy(to, part, count * sizeof(float));
}

// Where a tile is: rows [row, row + rows), columns [column, column + columns) of y.
struct Tile {
  size_t row, rows, column, columns;
};

template <Activation kind>
HWY_NOINLINE void finish_tile(const Product& p, const Tile& tile, const float* sums,
                              size_t stride) {
  const Epilogue& e = p.epilogue;
  for (size_t r = 0; r < tile.rows; ++r) {
    const size_t row = tile.row + r;
    const float* row_bias = nullptr;
    if (e.row_bias) {
      const size_t group = row / static_cast<size_t>(e.rows_per_bias);
      row_bias = e.row_bias + group * static_cast<size_t>(e.row_bias_stride) + tile.column;
    }
    const float* residual = nullptr;
    if (e.residual)
      residual = e.residual + row * static_cast<size_t>(e.residual_stride) + tile.column;
    float* y = p.y + row * static_cast<size_t>(p.y_stride) + tile.column;
    for (size_t c = 0; c < tile.columns; c += float_lanes) {
      const size_t count = tile.columns - c;
      FloatVec value = hn::LoadU(FloatTag(), sums + r * stride + c);
      if (e.bias) value = hn::Add(value, load_some(e.bias + tile.column + c, count));
      if (row_bias) value = hn::Add(value, load_some(row_bias + c, count));
      if (residual) value = hn::Add(value, load_some(residual + c, count));
      store_some(activate<kind>(value), y + c, count);
    }
  }
}

// The sums of the gate are `gate` floats after those of the value.
inline HWY_NOINLINE void finish_geglu(const Product& p, const Tile& tile, const float* sums,
                                      size_t stride, size_t gate) {
  const float* bias = p.epilogue.bias;
  for (size_t r = 0; r < tile.rows; ++r) {
    float* y = p.y + (tile.row + r) * static_cast<size_t>(p.y_stride) + tile.column;
    for (size_t c = 0; c < tile.columns; c += float_lanes) {
      const size_t count = tile.columns - c, column = tile.column + c;
      FloatVec value = hn::LoadU(FloatTag(), sums + r * stride + c);
      FloatVec gating = hn::LoadU(FloatTag(), sums + r * stride + gate + c);
      if (bias) {
        value = hn::Add(value, load_some(bias + column, count));
        gating = hn::Add(gating, load_some(bias + static_cast<size_t>(p.n) + column, count));
      }
      store_some(hn::Mul(value, gelu(gating)), y + c, count);
    }
  }
}

inline HWY_NOINLINE void finish(const Product& p, const Tile& tile, const float* sums,
                                size_t stride, size_t gate) {
  if (p.epilogue.geglu) return finish_geglu(p, tile, sums, stride, gate);
  switch (p.epilogue.activation) {
    case Activation::none:
      return finish_tile<Activation::none>(p, tile, sums, stride);
    case Activation::silu:
      return finish_tile<Activation::silu>(p, tile, sums, stride);
    case Activation::gelu:
      return finish_tile<Activation::gelu>(p, tile, sums, stride);
    case Activation::gelu_tanh:
      return finish_tile<Activation::gelu_tanh>(p, tile, sums, stride);
    case Activation::quick_gelu:
      return finish_tile<Activation::quick_gelu>(p, tile, sums, stride);
    case Activation::relu:
      return finish_tile<Activation::relu>(p, tile, sums, stride);
    case Activation::leaky_relu:
      return finish_tile<Activation::leaky_relu>(p, tile, sums, stride);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace omnirt::cpu
HWY_AFTER_NAMESPACE();
#endif
