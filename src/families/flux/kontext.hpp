#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// FLUX.1 Kontext: edits by one image, whose tokens are next to those that are made.
Family flux_kontext();

}  // namespace omnirt::families
