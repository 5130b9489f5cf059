#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "io/weight_file.hpp"

// GGUF, the format of ggml's programs (github ggml-org/ggml, docs/gguf.md), versions 2 and 3,
// little-endian: counts, texts and numbers by key, the tensors' names, sizes and types, the data.
// As strict as ggml's reader in this: no key and no name twice, offsets at multiples of the
// alignment, no lists of lists. Tensors must be inside the file and must not overlap.
namespace omnirt::io {

inline constexpr size_t max_gguf_header = 256'000'000;  // bytes; tokenizers take some 10 MB
inline constexpr size_t max_gguf_keys = 65'536;
inline constexpr size_t max_gguf_text = 16'000'000;  // bytes of one value; templates take 10 KB
inline constexpr size_t max_gguf_rank = 4;           // as ggml's
inline constexpr size_t max_gguf_alignment = 1 << 20;

// This key with a tensor's name holds its sizes where they are not those that the rows of its
// blocks need (github city96/ComfyUI-GGUF, tools/convert.py).
inline constexpr const char* gguf_shape_key = "comfy.gguf.orig_shape.";

bool is_gguf(std::span<const std::byte> start);

struct GgufHeader : WeightHeader {
  // `start` is the beginning of the file and holds its header at least; `file_size` is the whole
  // file's. `file` names it in errors. Shapes are torch's: the file has their sizes in reverse.
  // Throws InvalidFile with the file, the tensor and the numbers; Unsupported for versions and
  // types that are not read.
  static GgufHeader parse(std::span<const std::byte> start, size_t file_size,
                          const std::string& file);
};

class GgufFile final : public WeightFile {
 public:
  static std::shared_ptr<const GgufFile> open(std::shared_ptr<const MappedFile> bytes);

 private:
  using WeightFile::WeightFile;
};

}  // namespace omnirt::io
