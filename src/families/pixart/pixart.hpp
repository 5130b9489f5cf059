#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// PixArt-Alpha and PixArt-Sigma: a diffusion transformer with a T5 text encoder; text2image.
Family pixart();

}  // namespace omnirt::families
