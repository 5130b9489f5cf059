#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "io/ggml_types.hpp"

namespace omnirt::io {

// The types that numbers can be written in, by their common names.
std::vector<std::string> written_ggml_types();
bool can_quantize(const GgmlType& type);

// Blocks of `type` for `numbers`, whose count is a multiple of the type's block; to the byte what
// gguf 0.19 makes of them (gguf/quants.py: `quantize_blocks`). `type` is one of those.
std::vector<std::byte> quantize(const GgmlType& type, std::span<const float> numbers);

}  // namespace omnirt::io
