#pragma once
#include <cstdint>

#include "tensor/tensor.hpp"

namespace omnirt::nn {

// FLUX.2's latents as its denoisers see them: a channel's square of 2x2 is four channels, row by
// row (diffusers Flux2KleinPipeline._patchify_latents).
inline constexpr int64_t patch_side = 2;

// {B, C, s h, s w} -> {B, s^2 C, h, w} (torch's PixelUnshuffle).
Tensor packed_patches(const Tensor& x, int64_t side = patch_side);
// The inverse (torch's PixelShuffle).
Tensor unpacked_patches(const Tensor& x, int64_t side = patch_side);

// {B, C, s h, s w} -> {B, h w, s s C}: squares as tokens, row by row, each its pixels row by row
// and each of those its channels (as diffusion transformers have them that predict tokens).
Tensor patch_tokens(const Tensor& x, int64_t side);
// The inverse.
Tensor image_of_patches(const Tensor& tokens, int64_t height, int64_t width, int64_t side);

}  // namespace omnirt::nn
