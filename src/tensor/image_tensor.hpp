#pragma once
#include "io/image.hpp"
#include "tensor/tensor.hpp"

namespace omnirt {

// An RGB or grey image, {1, C, H, W} fp32 in 0..1.
Tensor image_to_tensor(const io::Image& image);
// One image of {n, 3, H, W} in -1..1 as 8-bit RGB: x / 2 + 0.5, clamped, times 255, rounded half
// to even (reference: VaeImageProcessor.postprocess).
io::Image tensor_to_image(const Tensor& images, int64_t index);

}  // namespace omnirt
