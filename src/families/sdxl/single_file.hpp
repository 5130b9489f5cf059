#pragma once
#include "weights/single_file_kind.hpp"

namespace omnirt::families {

// Stable Diffusion XL in one file, as Stability published it: the UNet below model.diffusion_model,
// the autoencoder below first_stage_model, the text encoders below conditioner.embedders: CLIP and
// OpenCLIP in the base, OpenCLIP alone in the refiner.
SingleFileKind sdxl_single_file();

}  // namespace omnirt::families
