#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/dtype.hpp"
#include "io/encoding.hpp"

// The element types of GGUF files (ggml's enum ggml_type; gguf 0.19, gguf/constants.py and
// gguf/quants.py): blocks of elements that share scales.
namespace omnirt::io {

struct GgmlType {
  uint32_t number;        // as in files
  std::string_view name;  // "Q4_K"
  size_t block;           // elements
  size_t bytes;           // of a block
  // Types of one number per element, which need no widening.
  std::optional<Dtype> plain;
  // One block's numbers; nullptr for plain types.
  void (*widen)(const std::byte* block, float* to);
  // As reports call it: "q4_k", "fp16".
  std::string common_name() const;
};

// nullptr for numbers and names of no type whose numbers can be read (among them those that ggml
// keeps for products, Q8_1 and Q8_K). Names in any case.
const GgmlType* find_ggml_type(uint32_t number);
const GgmlType* find_ggml_type(std::string_view name);
std::span<const GgmlType> ggml_types();

// The numbers that `type`'s blocks encode, as gguf 0.19 has them to the bit. `type` is not plain.
std::shared_ptr<const Encoding> ggml_encoding(const GgmlType& type);

}  // namespace omnirt::io
