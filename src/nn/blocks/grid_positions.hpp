#pragma once
#include "nn/layers.hpp"

namespace omnirt::nn {

// Which embeddings of a grid of positions each of N patches has, and how much of each.
struct GridPositions {
  Tensor places;   // {K, 1, N} int64
  Tensor weights;  // {K, 1, N, 1} fp32
};

// x {1, N, D} with the positions of its patches.
Tensor with_grid_positions(Context& cx, const Tensor& x, const Embedding& grid,
                           const GridPositions& at);

}  // namespace omnirt::nn
