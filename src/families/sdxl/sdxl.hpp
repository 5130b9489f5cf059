#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Stable Diffusion XL (Podell et al. 2023, arXiv 2307.01952): base, refiner and turbo models over
// one list of blocks.
Family sdxl();

}  // namespace omnirt::families
