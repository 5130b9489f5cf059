#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace omnirt::io {

// Elements that are signed bytes, each times the scale of its row, of a matrix whose rows were
// multiplied by a Hadamard matrix in groups (ScaledForm::rotation).
struct Int8Rows {
  int64_t columns = 0;
  int64_t rotation = 0;  // columns of a group; 0: none
  std::vector<float> scales{};
};

// How the bytes of a tensor encode numbers where they are not one number per element: blocks with
// scales of their own (ggml's types), or small numbers whose scales are further tensors. Immutable;
// keeps alive what it reads in addition to the bytes.
class Encoding {
 public:
  virtual ~Encoding() = default;
  // As reports and messages call it: "q4_k", "fp8 scaled".
  virtual std::string name() const = 0;
  // Elements are widened in multiples of this many, from a multiple of it on.
  virtual size_t unit() const = 0;
  // The bytes of `count` elements, a multiple of unit().
  virtual size_t bytes(size_t count) const = 0;
  // The numbers of the elements from `first` on, as many as `to` holds; `data` is their bytes.
  virtual void widen(std::span<const std::byte> data, size_t first, std::span<float> to) const = 0;
  // Where these are ggml's blocks, their type (GgmlType::number): kernels widen some faster.
  virtual std::optional<uint32_t> ggml_type() const { return std::nullopt; }
  // Where these are such rows: kernels multiply their bytes as they are. Lives as long as this.
  virtual const Int8Rows* int8_rows() const { return nullptr; }

 protected:
  Encoding() = default;
  Encoding(const Encoding&) = default;
  Encoding& operator=(const Encoding&) = default;
};

}  // namespace omnirt::io
