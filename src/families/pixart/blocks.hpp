#pragma once
#include "blocks/binned_size.hpp"
#include "networks/pixart_transformer_2d_model/model.hpp"
#include "networks/t5_encoder_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

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
SizeNumbers size_numbers(blocks::PixelSize size);

// The sizes that it was trained on.
blocks::BinnedSizes pixart_sizes();

// The size that the image is made at as conditions of the network (Chen et al. 2023, arXiv
// 2310.00426, appendix): only PixArt-Alpha at 1024 pixels has them.
class SizeConditions final : public Block {
 public:
  Component<nn::DenoiserNetwork> transformer{this, "transformer"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> binning{this, keys::use_resolution_binning};
  Output<Tensor> resolution{this, "resolution", "height and width in pixels", {"1", "2"}};
  Output<Tensor> aspect_ratio{this, "aspect_ratio", "height / width", {"1", "1"}};

  SizeConditions();
  void run(Frame& frame) const override;
};

// Whether the network of this config takes the image's size.
Trigger takes_size();

}  // namespace omnirt::pixart
