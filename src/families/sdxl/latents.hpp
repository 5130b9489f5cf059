#pragma once
#include "blocks/given_latents.hpp"
#include "blocks/latents.hpp"
#include "blocks/slots.hpp"
#include "families/sdxl/keys.hpp"

namespace omnirt::families {

// Given latents in place of an image: one per image of the run, or fewer, taken in turn.
class TakeLatents final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<GivenLatents> given{this, "latents", "latents of another run, to continue from"};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> image_latents{this, slots::image_latents};

  explicit TakeLatents(Trigger trigger)
      : Block("take_latents", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// The given image under as much noise as the schedule begins with; with denoising_start it is as
// noisy as it should be already (reference: prepare_latents of StableDiffusionXLImg2ImgPipeline
// and StableDiffusionXLInpaintPipeline).
class NoiseImageLatentsXL final : public blocks::NoiseImageLatents {
 public:
  Config<double> denoising_start{this, keys::denoising_start};

  // An inpainting starts from noise alone at full strength, and needs its noise at every step.
  NoiseImageLatentsXL(std::string name, bool inpaints, Trigger trigger)
      : NoiseImageLatents(std::move(name), inpaints, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  bool inpaints() const { return noise_alone_at_full_strength_; }
};

}  // namespace omnirt::families
