#pragma once
#include "blocks/latents.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::blocks {

// The mask (white: made anew) at the picture's size and at the latents', binary (reference:
// StableDiffusionInpaintPipeline.prepare_mask_latents).
class PrepareMask final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<io::Image> image{this, "image", "the image to start from"};
  Input<io::Image> mask{this, "mask", "white where the image is repainted, black where it is kept"};
  Output<Tensor> mask_pixels{
      this, "mask_pixels", "1 where the image is repainted", {"1", "1", "H", "W"}};
  Output<Tensor> mask_latents{
      this, "mask_latents", "1 where the image is repainted", {"1", "1", "H/8", "W/8"}};

  explicit PrepareMask(Trigger trigger)
      : Block("prepare_mask", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Proposal& proposal) const override;
};

// What a UNet with mask channels takes joined to the latents: the mask and the picture without what
// it covers.
class EncodeMaskedImage final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<io::Image> image{this, "image", "the image to start from"};
  Input<Tensor> mask_pixels{
      this, "mask_pixels", "1 where the image is repainted", {"1", "1", "H", "W"}};
  Input<Tensor> mask_latents{
      this, "mask_latents", "1 where the image is repainted", {"1", "1", "H/8", "W/8"}};
  Input<std::vector<uint64_t>> seeds{this, "seeds", "one per image"};
  InOut<std::shared_ptr<Noise>> noise_source{this, "noise_source", "the generators, one per image"};
  Output<Tensor> extra_channels{
      this, "extra_channels", "joined to the latents", {"B", "C'", "H/8", "W/8"}};

  explicit EncodeMaskedImage(Trigger trigger)
      : Block("encode_masked_image", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {
  }
  void run(Frame& frame) const override;
};

// For a UNet without mask channels: what is put back at each step. Such a UNet does not need the
// masked picture, but the reference encodes it all the same, and what that draws stands between
// the first noise and the steps' own: the same draws keep stochastic schedulers in step.
class KeepUnmasked final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Input<Tensor> noise{this, "noise", "the first draw", {"B", "C", "H/8", "W/8"}};
  Input<Tensor> mask_latents{
      this, "mask_latents", "1 where the image is repainted", {"1", "1", "H/8", "W/8"}};
  InOut<std::shared_ptr<Noise>> noise_source{this, "noise_source", "the generators, one per image"};
  Output<Tensor> keep_mask{
      this, "keep_mask", "0 where the image is put back at each step", {"1", "1", "H/8", "W/8"}};

  explicit KeepUnmasked(Trigger trigger)
      : Block("keep_unmasked", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// Puts the given image back after each step, as noisy as the sample is, where the mask keeps it
// (reference: StableDiffusionInpaintPipeline, UNets without mask channels).
class PutBackUnmasked final : public StepBlock {
 public:
  Input<Tensor> keep_mask{
      this, "keep_mask", "0 where the image is put back at each step", {"1", "1", "H/8", "W/8"}};
  Input<Tensor> image_latents{this, "image_latents", "the given image", {"B", "C", "H/8", "W/8"}};
  Input<Tensor> noise{this, "noise", "the first draw", {"B", "C", "H/8", "W/8"}};

  explicit PutBackUnmasked(Trigger trigger)
      : StepBlock("put_back_unmasked", Stage::denoise_loop, Guidance::shared, std::move(trigger)) {}
  void after_step(Frame& frame, Walk& walk) const override;
};

}  // namespace omnirt::blocks
