#pragma once
#include <cstddef>
#include <span>

// One block of ggml's types of 256 elements, to the byte what ggml's reference makes of the numbers
// (ggml-quants.c: `quantize_row_q4_K_ref`, `quantize_row_q5_K_ref`).
namespace omnirt::io {

void quantize_q4_k(std::span<const float, 256> numbers, std::byte* to);
void quantize_q5_k(std::span<const float, 256> numbers, std::byte* to);

}  // namespace omnirt::io
