#pragma once
#include "pipeline/block.hpp"

namespace omnirt::blocks {

// The UNet takes the mask and the masked picture joined to the latents (9 channels of Stable
// Diffusion's inpainting).
Trigger has_mask_channels();

// Looks at whether the folder's parts fit each other and the task; does nothing in a run.
class CheckUNet final : public Block {
 public:
  // The text encoders whose embeddings the UNet takes side by side; those that a folder does not
  // have count nothing.
  explicit CheckUNet(std::vector<std::string> text_encoders)
      : Block("check_unet", Stage::prepare_conditions), text_encoders_(std::move(text_encoders)) {}
  void run(Frame&) const override {}
  void check(Proposal& proposal) const override;

 private:
  void check_text(Proposal& proposal) const;
  std::vector<std::string> text_encoders_;
};

}  // namespace omnirt::blocks
