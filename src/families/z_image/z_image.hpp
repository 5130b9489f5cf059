#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Z-Image: a transformer over one stream of image and text with a language model as text encoder;
// text2image, image2image, inpaint.
Family z_image();

}  // namespace omnirt::families
