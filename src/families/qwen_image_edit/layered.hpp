#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Qwen-Image-Layered: an image taken apart into layers with alpha.
Family qwen_image_layered();

}  // namespace omnirt::families
