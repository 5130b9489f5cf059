#pragma once
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "backends/cpu/simd/types.hpp"

// torch's tensors as arguments of ops, by its stable ABI alone.
namespace omnirt::torch_ops {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;
using MaybeTensor = std::optional<Tensor>;
using Sizes = std::vector<int64_t>;

// Sizes beyond this are no network's: what is computed from some of them stays inside 63 bits.
constexpr int64_t most_of_a_size = int64_t{1} << 31;

// One argument of a call. Each check throws std::invalid_argument (ValueError in Python) that names
// the op, the argument, what it is and what it may be.
class Argument {
 public:
  Argument(const char* op, const char* name, const Tensor& tensor)
      : op_(op), name_(name), tensor_(tensor) {}

  // On the CPU, with this number of dimensions, none of size 0.
  const Argument& dims(int64_t least, int64_t most) const;
  const Argument& fp32() const;
  const Argument& shape(std::initializer_list<int64_t> sizes) const;
  const Argument& contiguous() const;
  // fp32 in one piece: a bias, or the weight of a norm.
  const Argument& row(int64_t size) const { return dims(1, 1).fp32().shape({size}).contiguous(); }

  [[noreturn]] void refuse(const std::string& why) const;

 private:
  const char* op_;
  const char* name_;
  const Tensor& tensor_;
};

// The same for an argument that is no tensor.
[[noreturn]] void refuse(const char* op, const char* name, int64_t value, const std::string& why);
void check_range(const char* op, const char* name, int64_t value, int64_t least, int64_t most);

inline const float* floats(const Tensor& x) {
  return static_cast<const float*>(x.const_data_ptr());
}
inline const float* floats(const MaybeTensor& x) {
  return x ? floats(*x) : nullptr;
}
inline float* written_floats(const Tensor& x) {
  return static_cast<float*>(x.mutable_data_ptr());
}

// A fp32 bias (or nothing) as kernels read it.
const float* row_or_null(const char* op, const char* name, const MaybeTensor& row, int64_t size);

Tensor new_tensor(const Sizes& sizes, const Sizes& strides, ScalarType type = ScalarType::Float);
// In the order of its dimensions.
Tensor new_rows(const Sizes& sizes, ScalarType type = ScalarType::Float);

// By the number that the Python side sends.
cpu::Activation activation_of(const char* op, int64_t number);

// How fp32 numbers are multiplied: torch's float32_matmul_precision.
enum class Precision { highest, high, medium };
Precision precision_of(const char* op, int64_t number);

}  // namespace omnirt::torch_ops
