#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// FLUX.1: a transformer over text and image with CLIP and T5 as text encoders; text2image,
// image2image, inpaint; Fill, and Depth and Canny.
Family flux();

}  // namespace omnirt::families
