#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backends/cpu/simd/types.hpp"

// y[m][n] = act(sum over k of x[m][k] * w[n][k] + bias[n] + row_bias[m / rows_per_bias][n] +
// residual[m][n]).
//
// * All is float32 but the weights, which stay in the file's type and layout: they are widened and
//   packed a cache-sized block at a time inside the product. No copy of all of w ever exists.
// * Bits do not depend on the number of threads, on m, or on how rows are batched: each output is
//   one chain of multiply-adds in the order of k.
// * A NaN or an infinity reaches exactly the outputs that the formula says.
// * The work is spread over the thread team; from inside a parallel_for it runs on that thread.
namespace omnirt::cpu {

// Weights [rows][columns] row-major, at any byte alignment.
struct WeightView {
  const void* data = nullptr;
  WeightType type = WeightType::f32;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0;                    // in elements; 0: columns
  const EncodedElements* encoded = nullptr;  // in place of data, where the type is encoded
};

struct Epilogue {
  const float* bias = nullptr;      // [n]; [2 n] with geglu
  const float* row_bias = nullptr;  // one row of n for each rows_per_bias rows of y
  int64_t row_bias_stride = 0;
  int64_t rows_per_bias = 1;
  const float* residual = nullptr;  // [m][n]; may be y itself
  int64_t residual_stride = 0;
  Activation activation = Activation::none;
  // w has 2 n rows: y[n] = (x w[n] + bias[n]) * gelu(x w[N + n] + bias[N + n]), without a 2 n wide
  // tensor. With it, no row_bias, residual or activation.
  bool geglu = false;
};

// Strides in floats; columns are contiguous. y must not overlap x.
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const float* x = nullptr;
  int64_t x_stride = 0;
  float* y = nullptr;
  int64_t y_stride = 0;
  Epilogue epilogue;
};

// Weights widened and packed beforehand, for products of few rows that run often. The packed form
// belongs to the SIMD target that packed it.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  size_t bytes() const { return floats_ * sizeof(float); }
  const float* data() const { return data_.get(); }
  bool geglu() const { return geglu_; }
  int64_t taps() const { return taps_; }

 private:
  friend PackedMatrix pack_rows(const WeightView& weight, bool geglu, int64_t taps);
  struct Free {
    void operator()(float* memory) const;
  };
  std::unique_ptr<float, Free> data_;
  size_t floats_ = 0;
  int64_t rows_ = 0, columns_ = 0, taps_ = 1;
  bool geglu_ = false;
};

// `geglu`: for products whose epilogue has it (the halves are padded apart).
PackedMatrix pack(const WeightView& weight, bool geglu = false);
// Bytes that pack would take.
size_t packed_bytes(int64_t rows, int64_t columns, bool geglu = false);

// Throw InternalError when sizes do not agree.
void gemm(const GemmArgs& args, const WeightView& weight);
void gemm(const GemmArgs& args, const PackedMatrix& weight);

}  // namespace omnirt::cpu
