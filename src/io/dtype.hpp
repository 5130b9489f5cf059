#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace omnirt::io {

// The element types of the safetensors format (crate safetensors 0.8, enum Dtype), in its order:
// alignment increases, and a writer puts the tensors of a later type first, so that each is
// aligned.
enum class Dtype : uint8_t {
  boolean,
  f4,
  f6_e2m3,
  f6_e3m2,
  u8,
  i8,
  f8_e5m2,
  f8_e4m3,
  f8_e8m0,
  f8_e4m3fnuz,
  f8_e5m2fnuz,
  i16,
  u16,
  f16,
  bf16,
  i32,
  u32,
  f32,
  c64,
  f64,
  i64,
  u64,
};

// Bits of one element; 4 and 6 for the types that pack elements into shared bytes.
size_t dtype_bits(Dtype dtype);
// The address of an element must be a multiple of this many bytes; 1 for packed types.
size_t dtype_alignment(Dtype dtype);
// A float that is its own value, whatever file it is in: fp32, fp16, bf16. (Small floats go with
// scales, and fp64 is not computed with.)
bool is_plain_float(Dtype dtype);

// The format's name: "F32", "BF16", "F8_E4M3".
std::string_view dtype_name(Dtype dtype);
std::optional<Dtype> parse_dtype(std::string_view name);

// The name used in requests and reports: "fp32", "bf16", "int8"; "fp8" is f8_e4m3. A type that
// requests cannot name is called by its format's name in lower case.
std::string_view common_dtype_name(Dtype dtype);
std::optional<Dtype> parse_common_dtype(std::string_view name);

// The bytes that a contiguous tensor fills. nullopt when a size is negative, when elements or bytes
// exceed 2^63 - 1 (a size of 0 does not hide an overflow of the others), or when packed elements
// end inside a byte.
std::optional<size_t> tensor_bytes(Dtype dtype, std::span<const int64_t> shape);

}  // namespace omnirt::io
