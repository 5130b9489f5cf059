#pragma once
#include "networks/qwen3_vl_for_conditional_generation/config.hpp"
#include "tensor/tensor.hpp"

namespace omnirt::blocks {

// An image among a prompt's tokens: its first one, and how many rows and columns of them it is.
struct Qwen3VLImage {
  int64_t first = 0, rows = 0, columns = 0;
};

// By what angles the pairs of a head turn at each of `tokens` tokens, {tokens, head_dim / 2} fp32.
// The pairs take turns in going by time, row and column; text has the same position on all three,
// and an image's tokens have one time, that of the token before them and 1 (transformers
// Qwen3VLModel.get_rope_index, Qwen3VLTextRotaryEmbedding). `images` are in order.
Tensor qwen3_vl_angles(const Qwen3VLTextConfig& config, int64_t tokens,
                       const std::vector<Qwen3VLImage>& images);

}  // namespace omnirt::blocks
