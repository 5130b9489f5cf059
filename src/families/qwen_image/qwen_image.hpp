#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Qwen-Image: a diffusion transformer with Qwen2.5-VL as its text encoder; text2image, image2image
// and inpaint.
Family qwen_image();

}  // namespace omnirt::families
