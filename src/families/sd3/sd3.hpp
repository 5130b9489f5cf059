#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Stable Diffusion 3 and 3.5: a transformer over text and image with two CLIPs and T5 as text
// encoders, of which T5 may be left out; text2image, image2image, inpaint.
Family sd3();

}  // namespace omnirt::families
