#pragma once
#include <memory>
#include <vector>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

// What models of the family take joined to their latents; a transformer's channels show which.
namespace omnirt::flux {

// Of FLUX.1 Fill: the image without what the mask covers, and the mask, a channel for each pixel
// of a latent.
Trigger fills_masks();
// Of FLUX.1 Depth and Canny: an image that says where things are.
Trigger follows_control();
int64_t channels_with_mask(const nn::Autoencoder& vae);
int64_t channels_with_control(const nn::Autoencoder& vae);

// Reference: FluxFillPipeline.prepare_mask_latents.
class EncodeMasked final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Input<Tensor> mask_pixels{this, slots::mask_pixels};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> extra_channels{this, slots::extra_channels};

  explicit EncodeMasked(Trigger trigger)
      : Block("encode_masked_image", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {
  }
  void run(Frame& frame) const override;
  void check(Checks& checks) const override { tiling.check(checks, vae); }
};

// What the reference draws for a masked image that it then has no use for: the draws after it are
// thus the same (reference: FluxControlInpaintPipeline.prepare_mask_latents).
class SkipMaskedImage final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};

  explicit SkipMaskedImage(Trigger trigger)
      : Block("skip_masked_image", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// Reference: FluxControlPipeline and its forms for image2image and inpainting.
class EncodeControl final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  blocks::TilingPorts tiling{this};
  Input<io::Image> control_image{this, "control_image", "what says where things are: depth, edges"};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> extra_channels{this, slots::extra_channels};

  explicit EncodeControl(Trigger trigger)
      : Block("encode_control_image", Stage::prepare_latents, Guidance::shared,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override { tiling.check(checks, vae); }
};

}  // namespace omnirt::flux
