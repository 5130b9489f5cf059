#include "arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "backends/cpu/simd/target.hpp"
#include "ops.hpp"

namespace omnirt::torch_ops {
namespace {

Sizes sizes_of(const Tensor& x) {
  const auto sizes = x.sizes();
  return {sizes.begin(), sizes.end()};
}

}  // namespace

void Argument::refuse(const std::string& why) const {
  throw std::invalid_argument(fmt::format("omnirt_ops.{}: {} {}", op_, name_, why));
}

const Argument& Argument::dims(int64_t least, int64_t most) const {
  if (!tensor_.is_cpu()) refuse("is not on the cpu; these kernels are the processor's");
  const Sizes sizes = sizes_of(tensor_);
  const auto dims = static_cast<int64_t>(sizes.size());
  if (dims < least || dims > most) {
    const std::string wanted =
        least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
    refuse(
        fmt::format("has {} dimensions ({}); {} are taken", dims, fmt::join(sizes, ", "), wanted));
  }
  for (const int64_t size : sizes) {
    if (size == 0) refuse(fmt::format("is empty ({})", fmt::join(sizes, ", ")));
    if (size > most_of_a_size)
      refuse(fmt::format("has a dimension of {}; at most {} are taken", size, most_of_a_size));
  }
  return *this;
}

const Argument& Argument::fp32() const {
  const ScalarType type = tensor_.scalar_type();
  if (type != ScalarType::Float)
    refuse(fmt::format("is {}; Float (float32) is taken", torch::headeronly::toString(type)));
  return *this;
}

const Argument& Argument::shape(std::initializer_list<int64_t> wanted) const {
  const Sizes sizes = sizes_of(tensor_);
  if (!std::ranges::equal(sizes, wanted))
    refuse(fmt::format("has the shape ({}); the other arguments ask for ({})",
                       fmt::join(sizes, ", "), fmt::join(wanted, ", ")));
  return *this;
}

const Argument& Argument::contiguous() const {
  if (!tensor_.is_contiguous()) refuse("is not contiguous; give its .contiguous()");
  return *this;
}

void refuse(const char* op, const char* name, int64_t value, const std::string& why) {
  throw std::invalid_argument(fmt::format("omnirt_ops.{}: {} = {}: {}", op, name, value, why));
}

void check_range(const char* op, const char* name, int64_t value, int64_t least, int64_t most) {
  if (value < least || value > most)
    refuse(op, name, value, fmt::format("{} to {} are taken", least, most));
}

const float* row_or_null(const char* op, const char* name, const MaybeTensor& row, int64_t size) {
  if (row) Argument(op, name, *row).row(size);
  return floats(row);
}

Tensor new_tensor(const Sizes& sizes, const Sizes& strides, ScalarType type) {
  using torch::stable::detail::from;
  using torch::stable::detail::to;
  AtenTensorHandle made;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(static_cast<int64_t>(sizes.size()), sizes.data(),
                                                  strides.data(), to<int32_t>(from(type)),
                                                  aoti_torch_device_type_cpu(), 0, &made));
  return Tensor(made);
}

Tensor new_rows(const Sizes& sizes, ScalarType type) {
  Sizes strides(sizes.size(), 1);
  for (size_t at = sizes.size(); at-- > 1;) strides[at - 1] = strides[at] * sizes[at];
  return new_tensor(sizes, strides, type);
}

std::string cpu_target() {
  return cpu::targets().used;
}

cpu::Activation activation_of(const char* op, int64_t number) {
  check_range(op, "activation", number, 0, static_cast<int64_t>(cpu::Activation::leaky_relu));
  return static_cast<cpu::Activation>(number);
}

Precision precision_of(const char* op, int64_t number) {
  check_range(op, "precision", number, 0, static_cast<int64_t>(Precision::medium));
  return static_cast<Precision>(number);
}

}  // namespace omnirt::torch_ops
