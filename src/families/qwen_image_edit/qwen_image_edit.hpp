#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Qwen-Image-Edit and its later versions, which take several images: edits that Qwen2.5-VL looks
// at the images for.
Family qwen_image_edit();

}  // namespace omnirt::families
