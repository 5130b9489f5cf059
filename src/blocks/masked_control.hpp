#pragma once
#include "blocks/encode_control_image.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"

namespace omnirt::blocks {

// Any of the ControlNets is one for inpainting.
Trigger any_control_reads_mask();

// For the ControlNet for inpainting at `place`: the image's latents without what is repainted, and
// where it is kept. Of one that feeds back they are the mode (reference: DiffSynth-Studio
// QwenImageUnit_BlockwiseControlNet). Else they are samples that the reference draws from torch's
// generator for all; here that has each image's seed, as after torch.manual_seed (reference:
// QwenImageControlNetInpaintPipeline, StableDiffusion3ControlNetInpaintingPipeline).
class EncodeMaskedControl final : public Block {
 public:
  Component<nn::ControlNetwork> controlnet;
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Input<Tensor> mask_pixels{this, slots::mask_pixels};
  Input<Tensor> mask_latents{this, slots::mask_latents};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Value> control;

  // `own_text`: that of TokenControlOptions.
  explicit EncodeMaskedControl(size_t place, bool own_text = false);
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  Tensor noise(Frame& frame) const;

  size_t place_;
  bool own_text_;
};

}  // namespace omnirt::blocks
