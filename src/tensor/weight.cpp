#include "tensor/weight.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <cstring>

#include "base/ensure.hpp"

namespace omnirt {

at::ScalarType scalar_type(io::Dtype dtype) {
  switch (dtype) {
    case io::Dtype::f64:
      return at::kDouble;
    case io::Dtype::f32:
      return at::kFloat;
    case io::Dtype::f16:
      return at::kHalf;
    case io::Dtype::bf16:
      return at::kBFloat16;
    case io::Dtype::i64:
      return at::kLong;
    case io::Dtype::i32:
      return at::kInt;
    case io::Dtype::i16:
      return at::kShort;
    case io::Dtype::i8:
      return at::kChar;
    case io::Dtype::u8:
      return at::kByte;
    case io::Dtype::boolean:
      return at::kBool;
    case io::Dtype::f8_e4m3:
      return at::kFloat8_e4m3fn;
    case io::Dtype::f8_e5m2:
      return at::kFloat8_e5m2;
    default:
      throw Unsupported({"dtype", std::string(io::common_dtype_name(dtype)),
                         "weights of this type cannot be computed with", ""});
  }
}

Tensor Weight::view() const {
  auto options = at::TensorOptions().dtype(scalar_type(dtype));
  size_t alignment = c10::elementSize(scalar_type(dtype));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    Tensor copy = at::empty(shape, options);
    std::memcpy(copy.data_ptr(), data, bytes);
    return copy;
  }
  // from_blob wants a mutable pointer; nobody writes to a weight.
  return at::from_blob(
      const_cast<std::byte*>(data), shape, [keep = owner](void*) {}, options);
}

void WeightStore::add(std::string name, Weight weight) {
  auto [it, fresh] = weights_.try_emplace(std::move(name), nullptr);
  ensure(fresh, "weight '{}' was added twice", it->first);
  it->second = std::make_shared<const Weight>(std::move(weight));
}

size_t WeightStore::bytes() const {
  size_t total = 0;
  for (const auto& [name, weight] : weights_) total += weight->bytes;
  return total;
}

}  // namespace omnirt
