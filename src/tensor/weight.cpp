#include "tensor/weight.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>

#include "base/ensure.hpp"
#include "base/error.hpp"

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

namespace {

size_t count_of(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (int64_t size : shape) count *= static_cast<size_t>(size);
  return count;
}

// Pieces of some 4 MB.
void widen_pieces(const Weight& weight,
                  const std::function<void(size_t, std::span<const std::byte>)>& piece) {
  const io::Encoding& encoding = *weight.encoding;
  const size_t count = count_of(weight.shape), unit = encoding.unit();
  const size_t step = std::max<size_t>(1, (size_t{1} << 20) / unit) * unit;
  for (size_t at = 0; at < count; at += step) {
    size_t elements = std::min(step, count - at);
    piece(elements, {weight.data + encoding.bytes(at), encoding.bytes(elements)});
  }
}

Tensor widened(const Weight& weight) {
  Tensor numbers = at::empty(weight.shape, at::TensorOptions().dtype(at::kFloat));
  size_t at = 0;
  widen_pieces(weight, [&](size_t elements, std::span<const std::byte> bytes) {
    weight.encoding->widen(bytes, weight.first + at, {numbers.data_ptr<float>() + at, elements});
    at += elements;
  });
  return numbers;
}

}  // namespace

std::string Weight::stored_as() const {
  return encoding ? encoding->name() : std::string(io::common_dtype_name(dtype));
}

Weight weight_of(const io::FoundTensor& tensor) {
  return weight_of(tensor, tensor.entry->shape, 0, 1);
}

Weight weight_of(const io::FoundTensor& tensor, std::vector<int64_t> shape, size_t part,
                 size_t parts, size_t span) {
  const io::TensorEntry& entry = *tensor.entry;
  auto owner = tensor.file->owner();
  const size_t bytes = entry.bytes / parts * span, skip = entry.bytes / parts * part;
  size_t first = 0;
  if (entry.encoding) {
    const size_t count = count_of(entry.shape) / parts;
    first = part * count;
    if (count % entry.encoding->unit() != 0) {
      throw Unsupported({entry.name, entry.encoding->name(),
                         "its blocks reach from one of the matrices that it holds into the next",
                         "store it in another type"});
    }
  }
  return {entry.name,
          entry.dtype,
          std::move(shape),
          tensor.data().data() + skip,
          bytes,
          owner,
          [owner, offset = entry.offset + skip, bytes] { owner->release(offset, bytes); },
          entry.encoding,
          first};
}

void emit_numbers(const Weight& weight,
                  const std::function<void(std::span<const std::byte>)>& emit) {
  if (!weight.encoding) return emit({weight.data, weight.bytes});
  std::vector<float> numbers;
  size_t at = weight.first;
  widen_pieces(weight, [&](size_t elements, std::span<const std::byte> bytes) {
    numbers.resize(elements);
    weight.encoding->widen(bytes, at, numbers);
    at += elements;
    emit(std::as_bytes(std::span(numbers)));
  });
}

Tensor Weight::view() const {
  if (encoding) return widened(*this);
  auto options = at::TensorOptions().dtype(scalar_type(dtype));
  size_t alignment = c10::elementSize(scalar_type(dtype));
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
    Tensor copy = at::empty(shape, options);
    std::memcpy(copy.data_ptr(), data, bytes);
    return copy;
  }
  // from_blob wants a mutable pointer; nothing writes to a weight.
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
