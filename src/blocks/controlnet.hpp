#pragma once
#include <optional>

#include "blocks/control_keys.hpp"
#include "blocks/fit_images.hpp"
#include "blocks/hires.hpp"
#include "io/image.hpp"
#include "networks/controlnet_model/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::blocks {

// One ControlNet, of several where it has a place after the first: reads its control image, and
// adds its residuals to what the UNet is given at each step (Zhang et al. 2023, arXiv 2302.05543;
// reference: StableDiffusionControlNetPipeline and its kin).
class ControlNet final : public StepBlock {
 public:
  Component<ControlNetModel> controlnet;
  Described<UNet2DConditionModel> unet{this, "unet"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Input<io::Image> control_image;
  Config<Json> scale{this, keys::controlnet_conditioning_scale};
  Config<Json> start{this, keys::control_guidance_start};
  Config<Json> end{this, keys::control_guidance_end};
  Config<bool> guess_mode{this, keys::guess_mode};
  Config<Json> preprocess{this, keys::control_preprocess};
  Config<ImageFit> image_fit{this, keys::image_fit};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  OptionalInput<Value> hires_pixels;
  Output<Value> pixels;

  explicit ControlNet(size_t place);
  void run(Frame& frame) const override;
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;

 private:
  // The control image at the size of the pass that asks for this batch.
  const Value& pixels_for(Frame& frame, const RowBatch& batch) const;
  std::vector<Tensor> predicted(Frame& frame, const LoopProgress& at, const RowBatch& batch,
                                const std::vector<int64_t>& rows) const;
  void refuse(Checks& checks, const std::string& why) const;
  size_t place_;
};

// The control image of the ControlNet at `place` at the second pass's size, where there is one.
class HiresControl final : public Block {
 public:
  Component<ControlNetModel> controlnet;
  Input<io::Image> control_image;
  Config<Json> preprocess{this, keys::control_preprocess};
  Config<ImageFit> image_fit{this, keys::image_fit};
  Config<int64_t> hires_width{this, keys::hires_width};
  Config<int64_t> hires_height{this, keys::hires_height};
  Output<Value> hires_pixels;

  HiresControl(size_t place, const Trigger& hires);
  void run(Frame& frame) const override;

 private:
  size_t place_;
};

}  // namespace omnirt::blocks
