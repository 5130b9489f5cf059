#pragma once
#include "blocks/autoencoder_tiles.hpp"
#include "blocks/binned_size.hpp"
#include "blocks/control_keys.hpp"
#include "blocks/fit_images.hpp"
#include "networks/sana_controlnet_model/model.hpp"
#include "networks/sana_transformer_2d_model/model.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::sana {

// Checks whether a ControlNet is one that the reference's pipeline takes; does nothing in a run.
class CheckControlNet final : public Block {
 public:
  Described<nn::ControlNetwork> controlnet{this, "controlnet"};
  Described<SanaTransformer2DModel> transformer{this, "transformer"};

  CheckControlNet();
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
};

// The control image as latents, of the size that the image is made at (reference:
// SanaControlNetPipeline).
class EncodeControl final : public Block {
 public:
  Component<nn::ControlNetwork> controlnet{this, "controlnet"};
  Component<nn::DenoiserNetwork> transformer{this, "transformer"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> binning{this, keys::use_resolution_binning};
  Config<Json> preprocess{this, keys::control_preprocess};
  Config<ImageFit> image_fit{this, keys::image_fit};
  blocks::TilingPorts tiling{this};
  Input<io::Image> control_image{this, "control_image",
                                 "the image that components.controlnet reads"};
  Output<Value> control;

  explicit EncodeControl(blocks::BinnedSizes sizes);
  void run(Frame& frame) const override;
  void check(Checks& checks) const override { tiling.check(checks, vae); }

 private:
  blocks::BinnedSizes sizes_;
};

}  // namespace omnirt::sana
