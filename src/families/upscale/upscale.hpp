#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Given images made larger by a network of one file, without a diffusion model.
Family upscale();

}  // namespace omnirt::families
