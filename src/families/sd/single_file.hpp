#pragma once
#include "weights/single_file_kind.hpp"

namespace omnirt::families {

// Stable Diffusion 1.x and 2.x in one file, as CompVis and Stability published them: the UNet below
// model.diffusion_model, the autoencoder below first_stage_model, the text encoder (CLIP in 1.x,
// OpenCLIP in 2.x) below cond_stage_model.
SingleFileKind sd_single_file();

}  // namespace omnirt::families
