#pragma once
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "io/file.hpp"
#include "io/ggml_types.hpp"

namespace omnirt::io {

// A tensor to write, whose bytes are made while the file is written.
struct GgufTensor {
  using Emit = std::function<void(std::span<const std::byte>)>;
  std::string name;
  const GgmlType* type = nullptr;
  std::vector<int64_t> shape;  // torch's order; rows fit the type's blocks
  // Called once, when it is the tensor's turn; emits exactly its bytes, in order.
  std::function<void(const Emit& emit)> produce;
  // The sizes that it represents, where they are not `shape` (gguf_shape_key).
  std::vector<int64_t> original_shape{};
};

// Texts by key, in the order in which they are written.
using GgufTexts = std::vector<std::pair<std::string, std::string>>;

// Writes version 3, whole or not at all (AtomicFile): to the byte what gguf 0.19's GGUFWriter does
// for the same tensors and keys. `general.architecture`, among the texts, comes first, and
// general.quantization_version after the texts. Throws InvalidRequest for names that are there
// twice or are not UTF-8 and for more than the format's limits; what AtomicFile throws.
void stream_gguf(const std::filesystem::path& path, std::span<const GgufTensor> tensors,
                 const GgufTexts& texts);

}  // namespace omnirt::io
