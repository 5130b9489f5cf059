#pragma once
#include "nn/original_layout.hpp"

namespace omnirt {

class UNet2DConditionModel;

// The names of the original UNet (CompVis latent-diffusion and Stability generative-models,
// openaimodel.py): input_blocks, middle_block and output_blocks, numbered through; below
// "model.diffusion_model." in a checkpoint. kohya's adapters for SDXL name modules so, too. Which
// number is which module follows from the network's tree.
nn::OriginalLayout ldm_layout(const UNet2DConditionModel& unet);

}  // namespace omnirt
