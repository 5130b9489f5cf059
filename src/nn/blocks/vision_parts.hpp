#pragma once
#include "nn/layers.hpp"
#include "nn/module.hpp"

namespace omnirt::nn {

// What attention takes of a vision tower's product qkv, all {1, N, D}.
struct VisionHeads {
  Tensor query, key, value;
};

// Splits qkv {1, N, 3 D} and turns queries and keys, head by head, by rotary {2, N, D / heads / 2}
// (transformers apply_rotary_pos_emb_vision).
VisionHeads vision_heads(Context& cx, const Tensor& qkv, const Tensor& rotary, int64_t heads);

// Which embeddings of a grid of positions each of N patches has, and how much of each.
struct GridPositions {
  Tensor places;   // {K, 1, N} int64
  Tensor weights;  // {K, 1, N, 1} fp32
};

// x {1, N, D} with the positions of its patches.
Tensor with_grid_positions(Context& cx, const Tensor& x, const Embedding& grid,
                           const GridPositions& at);

}  // namespace omnirt::nn
