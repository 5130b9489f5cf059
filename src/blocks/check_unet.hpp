#pragma once
#include <deque>

#include "networks/clip_text_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::blocks {

// The UNet takes the mask and the masked image joined to the latents (9 channels of Stable
// Diffusion's inpainting).
Trigger has_mask_channels();

// Checks whether the folder's parts fit each other and the task; does nothing in a run.
class CheckUNet final : public Block {
 public:
  Described<nn::DenoiserNetwork> unet{this, "unet"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<SchedulerChoice> scheduler{this, "scheduler"};

  // The text encoders whose embeddings the UNet takes side by side; those that a folder does not
  // have count nothing.
  explicit CheckUNet(const std::vector<std::string>& text_encoders);
  void run(Frame&) const override {}
  void check(Checks& checks) const override;

 private:
  void check_variance(Checks& checks) const;
  void check_text(Checks& checks) const;
  std::deque<Described<CLIPTextModel>> text_encoders_;
};

}  // namespace omnirt::blocks
