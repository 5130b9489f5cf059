#pragma once
#include "pipeline/block.hpp"

namespace omnirt::families {

// The UNet takes the mask and the masked picture beside the latents (9 channels of Stable
// Diffusion's inpainting).
Trigger has_mask_channels();

// Looks at whether the folder's parts fit each other and the task; does nothing in a run.
class CheckUNet final : public Block {
 public:
  CheckUNet() : Block("check_unet", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Proposal& proposal) const override;
};

}  // namespace omnirt::families
