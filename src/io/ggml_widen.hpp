#pragma once
#include <cstddef>

// One block of each of ggml's types as numbers (gguf 0.19, gguf/quants.py: `dequantize_blocks`;
// q1_0: ggml-quants.c). Products of a scale, a small scale and an element have at most 22 bits, so
// that fp32 has them exactly, in whatever order and with whatever instructions they are made.
namespace omnirt::io {

void widen_q4_0(const std::byte* block, float* to);
void widen_q4_1(const std::byte* block, float* to);
void widen_q5_0(const std::byte* block, float* to);
void widen_q5_1(const std::byte* block, float* to);
void widen_q8_0(const std::byte* block, float* to);
void widen_q1_0(const std::byte* block, float* to);
void widen_tq1_0(const std::byte* block, float* to);
void widen_tq2_0(const std::byte* block, float* to);
void widen_mxfp4(const std::byte* block, float* to);
void widen_nvfp4(const std::byte* block, float* to);

void widen_q2_k(const std::byte* block, float* to);
void widen_q3_k(const std::byte* block, float* to);
void widen_q4_k(const std::byte* block, float* to);
void widen_q5_k(const std::byte* block, float* to);
void widen_q6_k(const std::byte* block, float* to);

void widen_iq2_xxs(const std::byte* block, float* to);
void widen_iq2_xs(const std::byte* block, float* to);
void widen_iq2_s(const std::byte* block, float* to);
void widen_iq3_xxs(const std::byte* block, float* to);
void widen_iq3_s(const std::byte* block, float* to);
void widen_iq1_s(const std::byte* block, float* to);
void widen_iq1_m(const std::byte* block, float* to);
void widen_iq4_nl(const std::byte* block, float* to);
void widen_iq4_xs(const std::byte* block, float* to);

}  // namespace omnirt::io
