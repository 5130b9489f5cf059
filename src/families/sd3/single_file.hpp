#pragma once
#include "weights/single_file_kind.hpp"

namespace omnirt::sd3 {

// Files that hold the transformer below model.diffusion_model., the autoencoder below
// first_stage_model. and the text encoders below text_encoders., T5 or not, as Stability AI and
// ComfyUI publish them.
SingleFileKind single_file();

}  // namespace omnirt::sd3
