#pragma once
#include <cstdint>

#include "tensor/tensor.hpp"

namespace omnirt::nn {

// FLUX.2's latents as its denoisers see them: a channel's square of 2x2 is four channels, row by
// row (diffusers Flux2KleinPipeline._patchify_latents).
inline constexpr int64_t patch_side = 2;

// {B, C, 2 h, 2 w} -> {B, 4 C, h, w}.
Tensor packed_patches(const Tensor& latents);
// The inverse.
Tensor unpacked_patches(const Tensor& latents);

}  // namespace omnirt::nn
