#pragma once
#include <ATen/ops/empty.h>

#include "backends/cpu/simd/types.hpp"
#include "base/ensure.hpp"
#include "ops/op.hpp"

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
// debug builds hold its arguments against both again, whoever calls it.
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

// The types of weights that kernels read as the file stores them.
inline bool is_stored_weight(const Tensor& weight) {
  at::ScalarType type = weight.scalar_type();
  return weight.is_contiguous() && is_here(weight) &&
         (type == at::kFloat || type == at::kHalf || type == at::kBFloat16);
}

inline WeightType weight_type(const Tensor& weight) {
  at::ScalarType type = weight.scalar_type();
  return type == at::kFloat  ? WeightType::f32
         : type == at::kHalf ? WeightType::f16
                             : WeightType::bf16;
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
