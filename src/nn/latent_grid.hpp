#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt::nn {

// What one latent stands for: frames, and pixels in height and in width. A video's first frame has
// a latent frame to itself, so that F frames make (F - 1) / frames + 1.
struct LatentFactors {
  int64_t frames = 1;
  int64_t side = 1;
};

// The sizes of latents, or of pixels, of which an image is a video of one frame.
struct LatentGrid {
  int64_t batch = 1, frames = 1, channels = 0, height = 0, width = 0;

  // Of images {B, C, H, W} or videos {B, F, C, H, W}. Throws InternalError for other tensors.
  static LatentGrid of(const Tensor& x);
  std::vector<int64_t> images() const { return {batch, channels, height, width}; }
  std::vector<int64_t> videos() const { return {batch, frames, channels, height, width}; }
  std::array<int64_t, 2> sides() const { return {height, width}; }
  bool has_sides_of(const LatentGrid& other) const {
    return height == other.height && width == other.width;
  }
};

}  // namespace omnirt::nn
