#include "nn/patches.hpp"

namespace omnirt::nn {

Tensor packed_patches(const Tensor& latents) {
  int64_t rows = latents.size(0), channels = latents.size(1);
  int64_t height = latents.size(2) / patch_side, width = latents.size(3) / patch_side;
  return latents.reshape({rows, channels, height, patch_side, width, patch_side})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape({rows, channels * patch_side * patch_side, height, width});
}

Tensor unpacked_patches(const Tensor& latents) {
  int64_t rows = latents.size(0), channels = latents.size(1) / (patch_side * patch_side);
  int64_t height = latents.size(2), width = latents.size(3);
  return latents.reshape({rows, channels, patch_side, patch_side, height, width})
      .permute({0, 1, 4, 2, 5, 3})
      .reshape({rows, channels, height * patch_side, width * patch_side});
}

}  // namespace omnirt::nn
