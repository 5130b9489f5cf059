#pragma once
#include "tensor/tensor.hpp"

namespace omnirt::blocks {

// For DenoiseOptions::after_guidance: each token of a guided prediction, a square of 2x2 latents,
// is made as long as the one under the prompt alone (reference: QwenImagePipeline, comb_pred *
// (cond_norm / noise_norm)). Both {B, C, H, W}, as the result.
Tensor as_long_as_cond(const Tensor& guided, const Tensor& cond);

}  // namespace omnirt::blocks
