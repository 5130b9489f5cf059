#include "nn/patches.hpp"

namespace omnirt::nn {

Tensor packed_patches(const Tensor& x, int64_t side) {
  int64_t rows = x.size(0), channels = x.size(1);
  int64_t height = x.size(2) / side, width = x.size(3) / side;
  return x.reshape({rows, channels, height, side, width, side})
      .permute({0, 1, 3, 5, 2, 4})
      .reshape({rows, channels * side * side, height, width});
}

Tensor unpacked_patches(const Tensor& x, int64_t side) {
  int64_t rows = x.size(0), channels = x.size(1) / (side * side);
  int64_t height = x.size(2), width = x.size(3);
  return x.reshape({rows, channels, side, side, height, width})
      .permute({0, 1, 4, 2, 5, 3})
      .reshape({rows, channels, height * side, width * side});
}

Tensor patch_tokens(const Tensor& x, int64_t side) {
  int64_t rows = x.size(0), channels = x.size(1);
  int64_t height = x.size(2) / side, width = x.size(3) / side;
  return x.reshape({rows, channels, height, side, width, side})
      .permute({0, 2, 4, 3, 5, 1})
      .reshape({rows, height * width, side * side * channels});
}

Tensor image_of_patches(const Tensor& tokens, int64_t height, int64_t width, int64_t side) {
  int64_t rows = tokens.size(0), channels = tokens.size(2) / (side * side);
  return tokens.reshape({rows, height, width, side, side, channels})
      .permute({0, 5, 1, 3, 2, 4})
      .reshape({rows, channels, height * side, width * side});
}

}  // namespace omnirt::nn
