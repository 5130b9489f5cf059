#include "io/ggml_types.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/ensure.hpp"
#include "io/ggml_widen.hpp"

namespace omnirt::io {
namespace {

constexpr GgmlType plain_type(uint32_t number, std::string_view name, size_t bytes, Dtype dtype) {
  return {number, name, 1, bytes, dtype, nullptr};
}

constexpr auto ggml_type_table = std::to_array<GgmlType>({
    plain_type(0, "F32", 4, Dtype::f32),         plain_type(1, "F16", 2, Dtype::f16),
    {2, "Q4_0", 32, 18, {}, widen_q4_0},         {3, "Q4_1", 32, 20, {}, widen_q4_1},
    {6, "Q5_0", 32, 22, {}, widen_q5_0},         {7, "Q5_1", 32, 24, {}, widen_q5_1},
    {8, "Q8_0", 32, 34, {}, widen_q8_0},         {10, "Q2_K", 256, 84, {}, widen_q2_k},
    {11, "Q3_K", 256, 110, {}, widen_q3_k},      {12, "Q4_K", 256, 144, {}, widen_q4_k},
    {13, "Q5_K", 256, 176, {}, widen_q5_k},      {14, "Q6_K", 256, 210, {}, widen_q6_k},
    {16, "IQ2_XXS", 256, 66, {}, widen_iq2_xxs}, {17, "IQ2_XS", 256, 74, {}, widen_iq2_xs},
    {18, "IQ3_XXS", 256, 98, {}, widen_iq3_xxs}, {19, "IQ1_S", 256, 50, {}, widen_iq1_s},
    {20, "IQ4_NL", 32, 18, {}, widen_iq4_nl},    {21, "IQ3_S", 256, 110, {}, widen_iq3_s},
    {22, "IQ2_S", 256, 82, {}, widen_iq2_s},     {23, "IQ4_XS", 256, 136, {}, widen_iq4_xs},
    plain_type(24, "I8", 1, Dtype::i8),          plain_type(25, "I16", 2, Dtype::i16),
    plain_type(26, "I32", 4, Dtype::i32),        plain_type(27, "I64", 8, Dtype::i64),
    plain_type(28, "F64", 8, Dtype::f64),        {29, "IQ1_M", 256, 56, {}, widen_iq1_m},
    plain_type(30, "BF16", 2, Dtype::bf16),      {34, "TQ1_0", 256, 54, {}, widen_tq1_0},
    {35, "TQ2_0", 256, 66, {}, widen_tq2_0},     {39, "MXFP4", 32, 17, {}, widen_mxfp4},
    {40, "NVFP4", 64, 36, {}, widen_nvfp4},      {41, "Q1_0", 128, 18, {}, widen_q1_0},
});

std::string lowered(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

class GgmlEncoding final : public Encoding {
 public:
  explicit GgmlEncoding(const GgmlType& type) : type_(type) {}
  std::string name() const override { return type_.common_name(); }
  size_t unit() const override { return type_.block; }
  std::optional<uint32_t> ggml_type() const override { return type_.number; }
  size_t bytes(size_t count) const override { return count / type_.block * type_.bytes; }

  void widen(std::span<const std::byte> data, size_t first, std::span<float> to) const override {
    ensure(
        first % type_.block == 0 && to.size() % type_.block == 0 && data.size() == bytes(to.size()),
        "{} elements of {} from {} on, in {} bytes", to.size(), type_.name, first, data.size());
    for (size_t i = 0; i < to.size() / type_.block; ++i)
      type_.widen(data.data() + i * type_.bytes, to.data() + i * type_.block);
  }

 private:
  const GgmlType& type_;
};

}  // namespace

std::string GgmlType::common_name() const {
  return plain ? std::string(common_dtype_name(*plain)) : lowered(name);
}

const GgmlType* find_ggml_type(uint32_t number) {
  const auto* found = std::ranges::find(ggml_type_table, number, &GgmlType::number);
  return found == ggml_type_table.end() ? nullptr : found;
}

const GgmlType* find_ggml_type(std::string_view name) {
  std::string wanted = lowered(name);
  const auto* found = std::ranges::find_if(ggml_type_table, [&](const GgmlType& type) {
    return lowered(type.name) == wanted || type.common_name() == wanted;
  });
  return found == ggml_type_table.end() ? nullptr : found;
}

std::span<const GgmlType> ggml_types() {
  return ggml_type_table;
}

std::shared_ptr<const Encoding> ggml_encoding(const GgmlType& type) {
  ensure(type.widen != nullptr, "{} needs no widening", type.name);
  return std::make_shared<const GgmlEncoding>(type);
}

}  // namespace omnirt::io
