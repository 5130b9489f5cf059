#pragma once
#include "blocks/control_keys.hpp"
#include "blocks/fit_images.hpp"
#include "blocks/hires.hpp"
#include "io/image.hpp"
#include "networks/t2i_adapter/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::blocks {

// One T2I-Adapter, of several where it has a place after the first: makes features of its control
// image once, and adds them to what the UNet is given in its part of the steps (Mou et al. 2023,
// arXiv 2302.08453; reference: StableDiffusionAdapterPipeline, StableDiffusionXLAdapterPipeline).
class T2IControl final : public StepBlock {
 public:
  Component<T2IAdapter> adapter;
  Described<UNet2DConditionModel> unet{this, "unet"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Input<io::Image> adapter_image;
  Config<Json> scale{this, keys::adapter_conditioning_scale};
  Config<double> factor{this, keys::adapter_conditioning_factor};
  Config<Json> preprocess{this, keys::adapter_preprocess};
  Config<ImageFit> image_fit{this, keys::image_fit};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  OptionalInput<Tensor> latents{this, slots::latents};  // the first pass's, for their size
  OptionalInput<std::vector<Value>> hires_features;
  Output<std::vector<Value>> features;

  explicit T2IControl(size_t place);
  void run(Frame& frame) const override;
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;

 private:
  // At the size of the pass that asks for this batch.
  const std::vector<Value>& features_for(Frame& frame, const RowBatch& batch) const;
  size_t place_;
};

// The features of the T2I-Adapter at `place` at the second pass's size, where there is one.
class HiresT2IControl final : public Block {
 public:
  Component<T2IAdapter> adapter;
  Input<io::Image> adapter_image;
  Config<Json> scale{this, keys::adapter_conditioning_scale};
  Config<Json> preprocess{this, keys::adapter_preprocess};
  Config<ImageFit> image_fit{this, keys::image_fit};
  Config<int64_t> hires_width{this, keys::hires_width};
  Config<int64_t> hires_height{this, keys::hires_height};
  Output<std::vector<Value>> hires_features;

  HiresT2IControl(size_t place, const Trigger& hires);
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  size_t place_;
};

}  // namespace omnirt::blocks
