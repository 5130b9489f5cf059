#pragma once
#include "networks/qwen2_5_vl_for_conditional_generation/windows.hpp"
#include "networks/qwen3_vl_for_conditional_generation/vision.hpp"
#include "tensor/tensor.hpp"

namespace omnirt::blocks {

// What Qwen2.5-VL's vision tower takes of an image.
struct VisionInput {
  Tensor patches;    // {1, N, channels * frames * patch * patch}, in the windows' order
  Tensor positions;  // {N, 2} fp32: row and column
  VisionWindows windows;
};

// pixels {1, 3, H, W} as the image processor returns them, H and W multiples of a square of
// patches; each frame of a patch is the image.
VisionInput vision_input(const Qwen25VLVisionConfig& config, const Tensor& pixels);

// The same for Qwen3-VL's.
Qwen3VLVisionInput qwen3_vl_vision_input(const Qwen3VLVisionConfig& config, const Tensor& pixels);

}  // namespace omnirt::blocks
