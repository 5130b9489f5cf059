#pragma once
#include "blocks/slots.hpp"
#include "tensor/tensor.hpp"

// Images that Qwen-Image's transformer goes by, as tokens after those of the image that is made.
namespace omnirt::slots {

inline constexpr Slot<Tensor> reference_latents{
    "reference_latents", "tokens of the images to go by", {"1", "N", "C"}};
inline constexpr Slot<Tensor> reference_ids{
    "reference_ids", "their positions: image, row, column", {"1", "N", "3"}};

}  // namespace omnirt::slots

namespace omnirt::blocks {

// {1, rows * columns, 3}: the image's number, and rows and columns counted from its middle
// (reference: QwenEmbedRope).
Tensor ids_from_middle(int64_t number, int64_t rows, int64_t columns);

}  // namespace omnirt::blocks
