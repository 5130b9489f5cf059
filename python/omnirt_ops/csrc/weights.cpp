#include "weights.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpu/simd/widen_blocks.hpp"

namespace omnirt::torch_ops {
namespace {

class ScaledFp8 final : public io::Encoding {
 public:
  ScaledFp8(bool e4m3, int64_t columns, const float* scales, int64_t scale_count)
      : widen_(cpu::fp8_widener(e4m3)),
        columns_(static_cast<size_t>(columns)),
        scales_(scales),
        scale_count_(scale_count) {}

  std::string name() const override { return "fp8 scaled"; }
  size_t unit() const override { return 1; }
  size_t bytes(size_t count) const override { return count; }
  void widen(std::span<const std::byte> data, size_t first, std::span<float> to) const override {
    widen_(data.data(), to.size(), to.data());
    for (size_t at = 0; at < to.size();) {
      const size_t row = (first + at) / columns_;
      const size_t end = std::min(to.size(), (row + 1) * columns_ - first);
      const float scale = scales_[scale_count_ == 1 ? 0 : row];
      for (; at < end; ++at) to[at] *= scale;
    }
  }

 private:
  cpu::BlockWidener widen_;
  size_t columns_;
  const float* scales_;
  int64_t scale_count_;
};

}  // namespace

StoredWeight::StoredWeight(const char* op, const Tensor& weight, int64_t least_dims,
                           int64_t most_dims) {
  const Argument argument(op, "weight", weight);
  argument.dims(least_dims, most_dims).contiguous();
  rows_ = weight.size(0);
  columns_ = weight.numel() / rows_;
  data_ = weight.const_data_ptr();
  const auto* bytes = static_cast<const std::byte*>(data_);
  switch (const ScalarType type = weight.scalar_type()) {
    case ScalarType::Float:
      return;
    case ScalarType::Half:
      type_ = cpu::WeightType::f16;
      return;
    case ScalarType::BFloat16:
      type_ = cpu::WeightType::bf16;
      return;
    case ScalarType::Float8_e4m3fn:
    case ScalarType::Float8_e5m2:
      type_ = cpu::WeightType::encoded;
      elements_.emplace(type == ScalarType::Float8_e4m3fn ? io::Dtype::f8_e4m3 : io::Dtype::f8_e5m2,
                        bytes);
      return;
    default:
      argument.refuse(
          fmt::format("is {}; float32, float16, bfloat16, float8_e4m3fn and float8_e5m2 are taken",
                      torch::headeronly::toString(type)));
  }
}

StoredWeight::StoredWeight(const std::byte* data, std::shared_ptr<const io::Encoding> encoding,
                           int64_t rows, int64_t columns)
    : type_(cpu::WeightType::encoded),
      encoding_(std::move(encoding)),
      rows_(rows),
      columns_(columns) {
  elements_.emplace(*encoding_, data, 0);
}

std::shared_ptr<const io::Encoding> scaled_fp8(bool e4m3, int64_t columns, const float* scales,
                                               int64_t scale_count) {
  return std::make_shared<ScaledFp8>(e4m3, columns, scales, scale_count);
}

}  // namespace omnirt::torch_ops
