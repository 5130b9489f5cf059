#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Z-Image Omni: text2image and edit, by images that its transformer and SigLIP2 look at.
Family z_image_omni();

}  // namespace omnirt::families
