#pragma once
#include <memory>

#include "blocks/given_latents.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/slots.hpp"
#include "families/pixart/sizes.hpp"
#include "io/image.hpp"
#include "networks/pixart_transformer_2d_model/model.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

namespace omnirt::pixart {

// Checks whether the folder's parts fit each other; does nothing in a run.
class CheckParts final : public Block {
 public:
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Described<PixArtTransformer2DModel> transformer{this, "transformer"};
  Described<T5EncoderModel> text_encoder{this, "text_encoder"};
  Described<nn::Autoencoder> vae{this, "vae"};

  CheckParts() : Block("check_parts", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

// A size as the network takes it: height and width {1, 2}, and height / width {1, 1}.
struct SizeNumbers {
  Tensor resolution, aspect_ratio;
};
SizeNumbers size_numbers(Size size);

// The size that the image is made at as conditions of the network (Chen et al. 2023, arXiv
// 2310.00426, appendix): only PixArt-Alpha at 1024 pixels has them.
class SizeConditions final : public Block {
 public:
  Component<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> binning;
  Output<Tensor> resolution{this, "resolution", "height and width in pixels", {"1", "2"}};
  Output<Tensor> aspect_ratio{this, "aspect_ratio", "height / width", {"1", "1"}};

  SizeConditions();
  void run(Frame& frame) const override;
};

// Initial noise from a file, of the size that the image is made at.
class TakeNoise final : public blocks::TakeNoiseOfImages {
 public:
  Described<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<bool> binning;

  explicit TakeNoise(Trigger trigger);

 protected:
  std::vector<int64_t> wanted(const Checks& checks) const override;
};

// Noise alone, as strong as the schedule begins, for an image of the size that it is made at.
class PrepareLatents final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Component<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> binning;
  Input<Schedule> schedule{this, slots::schedule};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  OptionalInput<Tensor> given_noise{this, slots::given_noise};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> noise{this, slots::noise};
  Output<Tensor> latents{this, slots::latents};

  PrepareLatents();
  void run(Frame& frame) const override;
};

// Images -> the size that was asked for: resized until they cover it, the middle cut out
// (reference: PixArtImageProcessor.resize_and_crop_tensor).
class FitImages final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  InOut<Tensor> decoded_images{this, slots::decoded_images};
  InOut<std::vector<io::Image>> images{this, slots::images};

  explicit FitImages(Trigger trigger);
  void run(Frame& frame) const override;
};

// Whether the network of this config takes the image's size.
Trigger takes_size();

}  // namespace omnirt::pixart
