#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// FLUX.2: a transformer over text and image with a language model as text encoder; text2image, edit
// by reference images, inpaint.
Family flux2();

}  // namespace omnirt::families
