#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Chroma: FLUX.1's blocks under T5 alone, with classifier-free guidance.
Family chroma();

}  // namespace omnirt::families
