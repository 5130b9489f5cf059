#pragma once
#include "tensor/tensor.hpp"

namespace omnirt::blocks {

// The guidance scale as an input of networks that take it so, {1, dim}, fp32: sines and cosines of
// 1000 (scale - 1) (Salimans & Ho 2022, arXiv 2202.00512, as latent consistency models use it;
// diffusers StableDiffusionPipeline.get_guidance_scale_embedding).
Tensor guidance_embedding(double scale, int64_t dim);

}  // namespace omnirt::blocks
