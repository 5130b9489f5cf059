#include "io/dtype.hpp"

#include <algorithm>
#include <array>

namespace omnirt::io {
namespace {

struct DtypeRow {
  std::string_view name, common;
  size_t bits;
};

// One row per enumerator, in order.
constexpr std::array dtype_rows = std::to_array<DtypeRow>({
    {"BOOL", "bool", 8},
    {"F4", "f4", 4},
    {"F6_E2M3", "f6_e2m3", 6},
    {"F6_E3M2", "f6_e3m2", 6},
    {"U8", "uint8", 8},
    {"I8", "int8", 8},
    {"F8_E5M2", "fp8_e5m2", 8},
    {"F8_E4M3", "fp8", 8},
    {"F8_E8M0", "f8_e8m0", 8},
    {"F8_E4M3FNUZ", "f8_e4m3fnuz", 8},
    {"F8_E5M2FNUZ", "f8_e5m2fnuz", 8},
    {"I16", "int16", 16},
    {"U16", "uint16", 16},
    {"F16", "fp16", 16},
    {"BF16", "bf16", 16},
    {"I32", "int32", 32},
    {"U32", "uint32", 32},
    {"F32", "fp32", 32},
    {"C64", "complex64", 64},
    {"F64", "fp64", 64},
    {"I64", "int64", 64},
    {"U64", "uint64", 64},
});
static_assert(dtype_rows.size() == static_cast<size_t>(Dtype::u64) + 1);

const DtypeRow& row(Dtype dtype) {
  return dtype_rows[static_cast<size_t>(dtype)];
}

std::optional<Dtype> find_row(std::string_view name, std::string_view DtypeRow::*column) {
  const auto* found = std::ranges::find(dtype_rows, name, column);
  if (found == dtype_rows.end()) return std::nullopt;
  return static_cast<Dtype>(found - dtype_rows.begin());
}

}  // namespace

size_t dtype_bits(Dtype dtype) {
  return row(dtype).bits;
}
size_t dtype_alignment(Dtype dtype) {
  return std::max<size_t>(1, row(dtype).bits / 8);
}
bool is_plain_float(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}
std::string_view dtype_name(Dtype dtype) {
  return row(dtype).name;
}
std::string_view common_dtype_name(Dtype dtype) {
  return row(dtype).common;
}

std::optional<Dtype> parse_dtype(std::string_view name) {
  return find_row(name, &DtypeRow::name);
}

std::optional<Dtype> parse_common_dtype(std::string_view name) {
  return find_row(name, &DtypeRow::common);
}

std::optional<size_t> tensor_bytes(Dtype dtype, std::span<const int64_t> shape) {
  int64_t bound = static_cast<int64_t>(dtype_bits(dtype));
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0) return std::nullopt;
    empty |= size == 0;
    if (__builtin_mul_overflow(bound, std::max<int64_t>(size, 1), &bound)) return std::nullopt;
  }
  if (empty) return 0;
  if (bound % 8 != 0) return std::nullopt;
  return static_cast<size_t>(bound / 8);
}

}  // namespace omnirt::io
