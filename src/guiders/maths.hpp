#pragma once
#include "tensor/tensor.hpp"

namespace omnirt {

// uncond + scale * (cond - uncond) (Ho & Salimans 2022, arXiv 2207.12598).
Tensor guided(const Tensor& cond, const Tensor& uncond, double scale);

// A guided prediction whose spread is pulled back towards that of cond, image by image
// (Lin et al. 2023, arXiv 2305.08891, section 3.4); `rescale` 0 leaves it as it is.
Tensor rescaled(const Tensor& prediction, const Tensor& cond, double rescale);

// Sums over all but the first dimension, {n, 1, ...}.
Tensor sum_by_image(const Tensor& x);

}  // namespace omnirt
