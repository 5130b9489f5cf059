#pragma once
#include "weights/single_file_kind.hpp"

namespace omnirt::flux {

// Files that hold FLUX.1's transformer in the original's names, below model.diffusion_model. or
// without a prefix, and in addition to it any of the autoencoder (vae.) and the text encoders
// (text_encoders.), as ComfyUI writes them.
SingleFileKind single_file();

}  // namespace omnirt::flux
