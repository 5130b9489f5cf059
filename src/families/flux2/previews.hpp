#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::flux2 {

// How the latents of the family's models are shown during a run, by entry.
std::map<std::string, PreviewMeans> previews();

}  // namespace omnirt::flux2
