#pragma once
#include <memory>

#include "blocks/fit_images.hpp"
#include "blocks/given_latents.hpp"
#include "blocks/latents.hpp"
#include "blocks/resolution_bins.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

// Images that are made at a size that the model was trained on, and fitted to the one asked for.
namespace omnirt::blocks {

// What is known of a family's sizes.
struct BinnedSizes {
  // Pixels that a latent of the transformer's sample_size stands for where bins are chosen.
  int64_t latent_pixels;
  // Latents of a token, a side.
  int64_t (*patch_size)(const nn::DenoiserNetwork& transformer);
  // A side that the request does not set; 0: the transformer's own.
  int64_t usual_side = 0;

  std::span<const ResolutionBin> bins(const nn::DenoiserNetwork& transformer) const {
    return resolution_bins(transformer.sample_size()[0] * latent_pixels);
  }
  // What an image is made at.
  PixelSize made_at(PixelSize wanted, bool binning, const nn::DenoiserNetwork& transformer) const {
    return binning ? binned(wanted, bins(transformer)) : wanted;
  }
};

// Settles width and height: the request's, or those of the model's training; and checks that the
// image can be made.
class BinnedImageSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> binning{this, keys::use_resolution_binning};
  Described<nn::DenoiserNetwork> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  explicit BinnedImageSize(BinnedSizes sizes)
      : Block("image_size", Stage::prepare_conditions), sizes_(sizes) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  void settle(Checks& checks, const Config<int64_t>& side) const;
  void check_grid(Checks& checks, PixelSize made) const;

  BinnedSizes sizes_;
};

// Initial noise from a file, of the size that the image is made at.
class TakeBinnedNoise final : public TakeNoiseOfImages {
 public:
  Described<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<bool> binning{this, keys::use_resolution_binning};

  TakeBinnedNoise(BinnedSizes sizes, Trigger trigger)
      : TakeNoiseOfImages(std::move(trigger)), sizes_(sizes) {}

 protected:
  std::vector<int64_t> wanted(const Checks& checks) const override;

 private:
  BinnedSizes sizes_;
};

// Noise alone, as strong as the schedule begins, for an image of the size that it is made at.
class PrepareBinnedLatents final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Component<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> binning{this, keys::use_resolution_binning};
  Input<Schedule> schedule{this, slots::schedule};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  OptionalInput<Tensor> given_noise{this, slots::given_noise};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> noise{this, slots::noise};
  Output<Tensor> latents{this, slots::latents};

  explicit PrepareBinnedLatents(BinnedSizes sizes, Trigger trigger = {})
      : Block("prepare_latents", Stage::prepare_latents, Guidance::shared, std::move(trigger)),
        sizes_(sizes) {}
  void run(Frame& frame) const override;

 private:
  BinnedSizes sizes_;
};

// A given image -> latents, of the size that the image is made at (reference:
// SanaSprintImg2ImgPipeline.prepare_image).
class EncodeBinnedImage final : public EncodeImage {
 public:
  Component<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<bool> binning{this, keys::use_resolution_binning};
  Config<ImageFit> image_fit{this, keys::image_fit};

  EncodeBinnedImage(BinnedSizes sizes, Trigger trigger)
      : EncodeImage(std::move(trigger)), sizes_(sizes) {}
  void run(Frame& frame) const override;

 private:
  BinnedSizes sizes_;
};

// Images -> the size that was asked for: resized until they cover it, the middle cut out
// (reference: PixArtImageProcessor.resize_and_crop_tensor).
class FitMadeImages final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  InOut<Tensor> decoded_images{this, slots::decoded_images};
  InOut<std::vector<io::Image>> images{this, slots::images};

  explicit FitMadeImages(Trigger trigger)
      : Block("fit_images", Stage::decode, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

}  // namespace omnirt::blocks
