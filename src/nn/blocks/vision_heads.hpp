#pragma once
#include "nn/module.hpp"

namespace omnirt::nn {

// What attention takes of a vision tower's product qkv, all {1, N, D}.
struct VisionHeads {
  Tensor query, key, value;
};

// Splits qkv {1, N, 3 D} and turns queries and keys, head by head, by rotary {2, N, D / heads / 2}
// (transformers apply_rotary_pos_emb_vision).
VisionHeads vision_heads(Context& cx, const Tensor& qkv, const Tensor& rotary, int64_t heads);

}  // namespace omnirt::nn
