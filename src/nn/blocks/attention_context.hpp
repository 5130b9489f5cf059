#pragma once
#include <array>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt::nn {

class ImagePrompts;  // nn/blocks/image_prompts.hpp

// What the layers of a network attend to in addition to their own tokens.
struct AttentionContext {
  Tensor text;                           // {B, S, D}, or those of its rows that differ
  std::vector<int64_t> rows{};           // of text, one for each of the batch; empty: its own
  const ImagePrompts* images = nullptr;  // images in addition to the text; null: none
  std::array<int64_t, 2> grid{0, 0};     // {height, width} of the image that the layer's tokens are
  // Texts that hold for parts of the image (regional attention), {B, S', D} each.
  std::vector<Tensor> entities{};
  // How much each token takes from the text and from each entity, {B, 1 + entities, N}: for the
  // largest grid, row by row, then for the one of half its sides, and so on.
  Tensor entity_weights{};
  std::array<int64_t, 2> largest_grid{0, 0};
};

// The grid below: half of each side, rounded up, as convolutions of stride 2 make it.
std::array<int64_t, 2> half_grid(const std::array<int64_t, 2>& grid);
// Of entity_weights, those of context.grid for `source` (0: the text, then the entities),
// {B, T, 1}.
Tensor weights_of(const AttentionContext& context, int64_t source);

}  // namespace omnirt::nn
