#pragma once
#include <memory>
#include <optional>

#include "arguments.hpp"
#include "backends/cpu/simd/encoded_elements.hpp"
#include "backends/cpu/simd/gemm.hpp"
#include "io/encoding.hpp"

namespace omnirt::torch_ops {

// A weight {rows, ...} as kernels read it: float32, float16, bfloat16, float8_e4m3fn or
// float8_e5m2, contiguous. Lives as long as they do.
class StoredWeight {
 public:
  StoredWeight(const char* op, const Tensor& weight, int64_t least_dims, int64_t most_dims);
  // Of encoded bytes: {rows, columns}.
  StoredWeight(const std::byte* data, std::shared_ptr<const io::Encoding> encoding, int64_t rows,
               int64_t columns);
  StoredWeight(const StoredWeight&) = delete;
  StoredWeight& operator=(const StoredWeight&) = delete;

  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  cpu::WeightView matrix() const { return {data_, type_, rows_, columns_, 0, encoded()}; }
  cpu::ConvWeights filters() const { return {data_, type_, encoded()}; }

 private:
  const cpu::EncodedElements* encoded() const { return elements_ ? &*elements_ : nullptr; }

  const void* data_ = nullptr;
  cpu::WeightType type_ = cpu::WeightType::f32;
  std::shared_ptr<const io::Encoding> encoding_;
  std::optional<cpu::EncodedElements> elements_;
  int64_t rows_ = 0, columns_ = 0;
};

// float8 numbers {rows, columns} times a scale of each row, or one of all.
std::shared_ptr<const io::Encoding> scaled_fp8(bool e4m3, int64_t columns, const float* scales,
                                               int64_t scale_count);

}  // namespace omnirt::torch_ops
