#pragma once
#include <cstddef>
#include <cstdint>

namespace omnirt::cpu {

// Widens `count` blocks, one after the other, to the bits that io's own functions return
// (io/ggml_widen.hpp). By the best SIMD target of the machine.
using BlockWidener = void (*)(const std::byte* blocks, size_t count, float* to);

// For a type of ggml (io::GgmlType::number); null where there is none.
BlockWidener block_widener(uint32_t ggml_type);
// For numbers of 8 bits, E4M3 (without infinities) or E5M2.
BlockWidener fp8_widener(bool e4m3);

}  // namespace omnirt::cpu
