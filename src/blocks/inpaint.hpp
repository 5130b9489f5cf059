#pragma once
#include "blocks/latents.hpp"
#include "blocks/masked_part.hpp"
#include "blocks/slots.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::blocks {

// The mask (white: repainted) at the image's size and at the latents', binary (reference:
// StableDiffusionInpaintPipeline.prepare_mask_latents).
class PrepareMask final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<io::Image> image{this, slots::image};
  Input<io::Image> mask{this, slots::mask};
  Output<Tensor> mask_pixels{this, slots::mask_pixels};
  Output<Tensor> mask_latents{this, slots::mask_latents};

  explicit PrepareMask(Trigger trigger)
      : Block("prepare_mask", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

// What a UNet with mask channels takes joined to the latents: the mask and the image without what
// it covers.
class EncodeMaskedImage final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Input<Tensor> mask_pixels{this, slots::mask_pixels};
  Input<Tensor> mask_latents{this, slots::mask_latents};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> extra_channels{this, slots::extra_channels};

  explicit EncodeMaskedImage(Trigger trigger)
      : Block("encode_masked_image", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {
  }
  void run(Frame& frame) const override;
};

// For a UNet without mask channels: what is put back at each step. Such a UNet does not need the
// masked image, but the reference encodes it all the same, and what that draws comes between the
// first noise and the steps' own: the same draws keep stochastic schedulers in step.
class KeepUnmasked final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Input<Tensor> noise{this, slots::noise};
  Input<Tensor> mask_latents{this, slots::mask_latents};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> keep_mask{this, slots::keep_mask};

  explicit KeepUnmasked(Trigger trigger)
      : Block("keep_unmasked", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// Puts the given image back after each step, as noisy as the sample is, where the mask keeps it
// (reference: StableDiffusionInpaintPipeline, UNets without mask channels).
class PutBackUnmasked final : public StepBlock {
 public:
  Input<Tensor> keep_mask{this, slots::keep_mask};
  Input<Tensor> image_latents{this, slots::image_latents};
  Input<Tensor> noise{this, slots::noise};

  explicit PutBackUnmasked(Trigger trigger)
      : StepBlock("put_back_unmasked", Stage::denoise_loop, Guidance::shared, std::move(trigger)) {}
  void after_step(Frame& frame, Walk& walk) const override;
};

}  // namespace omnirt::blocks
