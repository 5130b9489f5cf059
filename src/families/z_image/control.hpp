#pragma once
#include "blocks/autoencoder_tiles.hpp"
#include "blocks/control_keys.hpp"
#include "blocks/fit_images.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "networks/z_image_controlnet_model/model.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::z_image {

// There is a ControlNet that reads a mask and the image under it next to the control image.
Trigger control_reads_mask();

// The control image as the ControlNet reads it: the mode of what the encoder makes of it, and zeros
// where that also reads a mask and an image (reference: ZImageControlNetPipeline).
class EncodeControl : public Block {
 public:
  Component<ZImageControlNetModel> controlnet{this, "controlnet"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<Json> preprocess{this, keys::control_preprocess};
  Config<ImageFit> image_fit{this, keys::image_fit};
  blocks::TilingPorts tiling{this};
  Input<io::Image> control_image{this, "control_image",
                                 "the image that components.controlnet reads"};
  Output<Value> control;

  explicit EncodeControl(const Trigger& trigger, std::string name = "encode_controlnet_image");
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 protected:
  // What follows the latents of the control image, {1, n, h, w}.
  virtual Tensor rest(Frame& frame, const Tensor& latents) const;
  // The mode of what the encoder makes of pixels {1, 3, H, W} in -1..1, scaled.
  Tensor mode(Frame& frame, const Tensor& pixels) const;
};

// The same with where the image is kept, and the image without what is repainted (reference:
// ZImageControlNetInpaintPipeline).
class EncodeMaskedControl final : public EncodeControl {
 public:
  Input<io::Image> image{this, slots::image};
  Input<Tensor> mask_pixels{this, slots::mask_pixels};
  Input<Tensor> mask_latents{this, slots::mask_latents};

  explicit EncodeMaskedControl(const Trigger& trigger)
      : EncodeControl(trigger, "encode_masked_control") {}

 protected:
  Tensor rest(Frame& frame, const Tensor& latents) const override;
};

// Adds the ControlNet's hints to what the transformer is given at each step. Both look at each
// condition's own text.
class Control final : public StepBlock {
 public:
  Component<ZImageControlNetModel> controlnet{this, "controlnet"};
  Component<ZImageTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Config<Json> scale{this, keys::controlnet_conditioning_scale};
  Config<Json> start{this, keys::control_guidance_start};
  Config<Json> end{this, keys::control_guidance_end};
  Config<Json> preprocess{this, keys::control_preprocess};
  Input<Value> control;

  Control();
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
  void check(Checks& checks) const override;

 private:
  Values hints(Frame& frame, size_t step, const RowBatch& batch, double strength) const;
  void check_fits(Checks& checks) const;
};

}  // namespace omnirt::z_image
