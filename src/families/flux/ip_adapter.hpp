#pragma once
#include <deque>
#include <vector>

#include "blocks/control_keys.hpp"
#include "blocks/ip_adapter.hpp"
#include "io/image.hpp"
#include "networks/clip_vision_model/model.hpp"
#include "networks/flux_ip_adapter/model.hpp"
#include "networks/flux_transformer_2d_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::flux {

// One IP-Adapter, of several where it has a place after the first: makes keys and values of its
// images once, and of a black image, or another one that is given, for the negative prompt
// (reference: FluxIPAdapterMixin, FluxPipeline.prepare_ip_adapter_image_embeds).
class ImagePrompt final : public StepBlock {
 public:
  Component<FluxIPAdapter> ip_adapter;
  Component<CLIPVisionModel> image_encoder{this, "image_encoder"};
  Described<FluxTransformer2DModel> transformer{this, "transformer"};
  Described<ImageProcessor> feature_extractor{this, "feature_extractor"};
  Config<Json> scale{this, keys::ip_adapter_scale};
  Config<Json> image_processor{this, keys::image_processor};
  Input<io::Image> image;
  OptionalInput<io::Image> negative_image;
  Output<blocks::ImagePromptValues> values;

  explicit ImagePrompt(size_t place);
  void run(Frame& frame) const override;
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
  void check(Checks& checks) const override;

 private:
  // {images, D}.
  Tensor encoded(Frame& frame, const std::vector<const io::Image*>& images) const;
  void check_fits(Checks& checks) const;
  void check_scale(Checks& checks) const;
  void check_negative(Checks& checks) const;
  void settle_image_processor(Checks& checks) const;

  size_t place_;
  std::deque<OptionalInput<io::Image>> further_images_;
};

}  // namespace omnirt::flux
