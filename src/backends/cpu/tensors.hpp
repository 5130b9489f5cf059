#pragma once
#include <ATen/ops/empty.h>

#include <optional>

#include "backends/cpu/simd/encoded_elements.hpp"
#include "backends/cpu/simd/gemm.hpp"
#include "backends/cpu/simd/int8.hpp"
#include "base/ensure.hpp"
#include "ops/op.hpp"
#include "ops/packing.hpp"
#include "tensor/weight.hpp"

namespace omnirt::cpu {

// On the CPU, or without storage in a dry forward.
inline bool is_here(const Tensor& x) {
  return x.device().is_cpu() || x.is_meta();
}

inline bool is_fp32(const Tensor& x) {
  return x.scalar_type() == at::kFloat && is_here(x);
}

inline bool is_fp32_or_absent(const Tensor* x) {
  return !x || is_fp32(*x);
}

// Values that kernels read one after the other; an argument that may be absent.
inline bool is_row_or_absent(const Tensor* x) {
  return !x || (is_fp32(*x) && x->is_contiguous());
}

#ifdef NDEBUG
inline constexpr bool debug_build = false;
#else
inline constexpr bool debug_build = true;
#endif

// A kernel of this backend. `run` reads memory by the sizes that the op and `accepts` have seen;
// debug builds check its arguments against both again, whatever calls it.
template <class Args>
ops::Kernel<Args> kernel(const char* name, bool (*accepts)(const Args&), Tensor (*run)(const Args&),
                         std::function<size_t(const Args&)> temporary = {}) {
  if constexpr (!debug_build) return {name, accepts, run, std::move(temporary)};
  auto checked = [name, accepts, run](const Args& args) {
    ensure(Args::fits(args) && accepts(args), "{}: arguments of {} that it does not take", name,
           Args::name);
    return run(args);
  };
  return {name, accepts, checked, std::move(temporary)};
}

// Whether kernels read a weight as the file stores it: in a type that they know, or encoded in one
// that they widen panel by panel.
inline bool is_stored_weight(const Tensor& weight, const ops::PackSlot* slot) {
  if (const Weight* encoded = ops::encoded_weight(weight, slot)) {
    return encoded->encoding ? EncodedElements::takes(*encoded->encoding)
                             : EncodedElements::takes(encoded->dtype);
  }
  at::ScalarType type = weight.scalar_type();
  return weight.is_contiguous() && is_here(weight) &&
         (type == at::kFloat || type == at::kHalf || type == at::kBFloat16);
}

// Such a weight as kernels are given it; lives as long as they read it.
class StoredWeight {
 public:
  StoredWeight(const Tensor& weight, const ops::PackSlot* slot)
      : rows_(weight.size(0)), columns_(weight.numel() / weight.size(0)) {
    if (const Weight* encoded = ops::encoded_weight(weight, slot)) {
      type_ = WeightType::encoded;
      elements_ = encoded->encoding
                      ? EncodedElements(*encoded->encoding, encoded->data, encoded->first)
                      : EncodedElements(encoded->dtype, encoded->data);
      return;
    }
    data_ = weight.const_data_ptr();
    if (weight.scalar_type() == at::kHalf) type_ = WeightType::f16;
    if (weight.scalar_type() == at::kBFloat16) type_ = WeightType::bf16;
  }
  StoredWeight(const StoredWeight&) = delete;
  StoredWeight& operator=(const StoredWeight&) = delete;

  const EncodedElements* encoded() const { return elements_ ? &*elements_ : nullptr; }
  // Of filters, a row is [channels][taps].
  WeightView matrix() const { return {data_, type_, rows_, columns_, 0, encoded()}; }
  ConvWeights filters() const { return {data_, type_, encoded()}; }

 private:
  const void* data_ = nullptr;
  WeightType type_ = WeightType::f32;
  std::optional<EncodedElements> elements_;
  int64_t rows_, columns_;
};

// A matrix whose file holds bytes that int8 products take as they are; lives as long as its weight.
inline std::optional<Int8Matrix> int8_matrix(const Tensor& weight, const ops::PackSlot* slot) {
  const Weight* stored = ops::encoded_weight(weight, slot);
  const io::Int8Rows* rows =
      stored && stored->encoding && weight.dim() == 2 ? stored->encoding->int8_rows() : nullptr;
  if (!rows || rows->columns != weight.size(1) || rows->columns > int8_most_inner) return {};
  const int64_t group = rows->rotation > 0 ? rows->rotation : 1;
  const auto columns = static_cast<size_t>(rows->columns);
  if (!int8_rotates(group) || stored->first % columns != 0) return {};
  return Int8Matrix{reinterpret_cast<const int8_t*>(stored->data), weight.size(0), weight.size(1),
                    group, rows->scales.data() + stored->first / columns};
}

inline const float* data_or_null(const Tensor* x) {
  return x ? x->const_data_ptr<float>() : nullptr;
}

// x {B, C, H, W} in channels-last order; x itself where it is so already.
inline Tensor in_channels_last(const Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

// A new {B, C, H, W} in channels-last order.
inline Tensor new_channels_last(const ops::Shape& shape, const Tensor& like) {
  return at::empty(shape, like.options(), at::MemoryFormat::ChannelsLast);
}

}  // namespace omnirt::cpu
