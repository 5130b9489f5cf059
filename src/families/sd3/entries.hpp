#pragma once
#include <string>
#include <vector>

#include "pipeline/model_spec.hpp"

namespace omnirt::sd3 {

std::vector<ModelSpec> entries();
// Which stock model a folder is a variant of: by the transformer's config, and the distilled one,
// whose config is 3.5 large's, by the folder's name.
std::string variant_of(const PipelineFolder& folder);
std::vector<AdapterFamily> adapter_families();
// What says the usual guider's settings.
std::vector<const KeyInfo*> guider_keys();
// Colours of latents (ComfyUI, latent_formats.SD3).
PreviewMeans latent_colours();

}  // namespace omnirt::sd3
