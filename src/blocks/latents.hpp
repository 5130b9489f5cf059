#pragma once
#include <memory>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

namespace omnirt::blocks {

// A given image -> latents, a sample of the encoder's distribution for each image of the run.
class EncodeImage : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> image_latents{this, slots::image_latents};

  explicit EncodeImage(Trigger trigger, std::string name = "encode_image")
      : Block(std::move(name), Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void check(Checks& checks) const override { tiling.check(checks, vae); }
  void run(Frame& frame) const override;
};

// The same for a UNet with mask channels, which needs the latents only where it does not start from
// noise alone; the reference then draws nothing, and they are undefined.
class EncodeImageBelowFullStrength final : public EncodeImage {
 public:
  Config<double> strength{this, keys::strength};

  explicit EncodeImageBelowFullStrength(Trigger trigger)
      : EncodeImage(std::move(trigger), "encode_image_below_full_strength") {}
  void run(Frame& frame) const override;
};

// Noise alone, as strong as the schedule begins.
class PrepareLatents final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<Schedule> schedule{this, slots::schedule};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  OptionalInput<Tensor> given_noise{this, slots::given_noise};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> noise{this, slots::noise};
  Output<Tensor> latents{this, slots::latents};

  explicit PrepareLatents(Trigger trigger)
      : Block("prepare_latents", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// The given image under as much noise as the schedule begins with; with strength 1 an inpainting
// starts from noise alone.
class NoiseImageLatents : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<double> strength{this, keys::strength};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Input<Schedule> schedule{this, slots::schedule};
  UndefinedInput image_latents{this, slots::image_latents};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> noise{this, slots::noise};
  Output<Tensor> latents{this, slots::latents};

  // `noise_alone_at_full_strength`: the reference's inpainting starts so, its image2image does not.
  NoiseImageLatents(std::string name, bool noise_alone_at_full_strength, Trigger trigger)
      : Block(std::move(name), Stage::prepare_latents, Guidance::shared, std::move(trigger)),
        noise_alone_at_full_strength_(noise_alone_at_full_strength) {}
  void run(Frame& frame) const override;
  void check_loaded(Checks& checks) const override;

 protected:
  const bool noise_alone_at_full_strength_;
};

// Latents -> images.
class DecodeLatents : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  TilingPorts tiling{this};
  Input<Tensor> latents;
  Output<std::vector<io::Image>> images{this, slots::images};
  Output<Tensor> decoded_images;

  explicit DecodeLatents(Trigger trigger = {}, std::string name = "decode_latents",
                         const Slot<Tensor>& of = slots::latents,
                         const Slot<Tensor>& as = slots::decoded_images)
      : Block(std::move(name), Stage::decode, Guidance::shared, std::move(trigger)),
        latents(this, of),
        decoded_images(this, as) {}
  void check(Checks& checks) const override { tiling.check(checks, vae); }
  void run(Frame& frame) const override;

 protected:
  // One of them, {1, C, h, w}.
  virtual Tensor decoded(Frame& frame, const Tensor& latents_of_one) const;
};

// `image` at {width, height} as an autoencoder takes it, {1, 3, H, W} in -1..1 (reference:
// VaeImageProcessor.preprocess).
Tensor image_tensor(const io::Image& image, int64_t width, int64_t height);
// The image of one latent {1, C, h, w} as a denoiser leaves it: {1, 3, H, W} fp32, not clamped.
Tensor decoded_image(Frame& frame, const Component<nn::Autoencoder>& vae, const TilingPorts& tiling,
                     const Tensor& latents);
// The latents of one image {1, 3, H, W}, scaled as denoisers take them, {n, C, h, w}: a sample
// for each row of `noise` {n, C, h, w}, or one, without noise, where the autoencoder draws none.
Tensor encoded_image(Frame& frame, const Component<nn::Autoencoder>& vae, const TilingPorts& tiling,
                     const Tensor& pixels, const Tensor& noise);
// A sample per image of the latents of `image` {1, 3, H, W}, scaled as denoisers take them; one
// draw of `noise` where the autoencoder samples.
Tensor sampled_latents(Frame& frame, const Component<nn::Autoencoder>& vae,
                       const TilingPorts& tiling, const Tensor& pixels, int64_t count,
                       Noise& noise);

}  // namespace omnirt::blocks
