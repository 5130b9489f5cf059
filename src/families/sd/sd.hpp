#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Stable Diffusion 1.x and 2.x, and the embedded model: text2image, image2image and inpaint over
// one list of blocks.
Family sd();

}  // namespace omnirt::families
