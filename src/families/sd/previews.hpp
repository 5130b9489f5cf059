#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// How the latents of the family's models are shown during a run, by entry.
std::map<std::string, PreviewMeans> sd_previews();

}  // namespace omnirt::families
