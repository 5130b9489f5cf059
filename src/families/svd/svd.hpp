#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Stable Video Diffusion: image2video, in one chunk or in several.
Family svd();

}  // namespace omnirt::families
