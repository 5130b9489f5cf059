#pragma once
#include <cstdint>
#include <vector>

#include "blocks/slots.hpp"
#include "tensor/tensor.hpp"

// Where the tokens of a prompt and of images within it are, and which of them each sees.
namespace omnirt::qwen_image21 {

inline constexpr Slot<Tensor> prefix_ids{
    "prefix_ids", "positions of a prompt's tokens, and then of the images' in it", {"1", "P", "3"}};
inline constexpr Slot<Tensor> prefix_mask{
    "prefix_mask", "1 where the one of these tokens sees the other", {"B", "P", "P"}};
inline constexpr Slot<Tensor> sample_ids{
    "sample_ids", "positions of the tokens of the image that is made", {"1", "L", "3"}};

// Latents of an image, each a token.
struct Grid {
  int64_t rows = 0, columns = 0;
  int64_t tokens() const { return rows * columns; }
};

struct Sequence {
  std::vector<int64_t> before{};  // after how many of the text's tokens each image is
  std::vector<Grid> images{};
  int64_t text = 0;  // tokens, padding behind it included
  Grid made{};       // behind all of them
};

struct Places {
  Tensor prefix_ids, prefix_mask, sample_ids;
};

// Text has one position after the other, and padding has, too; an image has that of the next token
// as its first and takes as many as its longer side (reference: QwenImage21Rope). A token sees
// those before it, and those of its own image (reference: build_qwenimage21_block_causal_mask).
// `text` {B, T}: 0 where there is padding, which none sees; undefined where there is none.
Places places_of(const Sequence& sequence, const Tensor& text);

}  // namespace omnirt::qwen_image21
