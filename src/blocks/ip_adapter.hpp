#pragma once
#include <deque>

#include "blocks/control_keys.hpp"
#include "io/image.hpp"
#include "networks/clip_vision_model/model.hpp"
#include "networks/ip_adapter/model.hpp"
#include "networks/unet_2d_condition_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::blocks {

// Image prompts as the UNet takes them: for each of its layers keys and values, of the images and
// of what represents none.
struct ImagePromptValues {
  struct Prompt {
    // {2, tokens, width} per layer: of the images, and of what represents none.
    std::vector<Value> keys, values;
    std::vector<Value> masks;  // as UNetInput::ip_adapter_masks
  };
  std::vector<Prompt> prompts;
};

}  // namespace omnirt::blocks

template <>
struct omnirt::ValueCodec<omnirt::blocks::ImagePromptValues> {
  static constexpr const char* type = "image prompts";
  static SavedValue save(const blocks::ImagePromptValues& value);
  static blocks::ImagePromptValues load(const SavedValue& saved, const Catalogue& catalogue);
};

namespace omnirt::blocks {

// One IP-Adapter, of several where it has a place after the first: makes keys and values of its
// images once, and gives them to the UNet with the text (Ye et al. 2023, arXiv 2308.06721;
// reference: IPAdapterMixin and prepare_ip_adapter_image_embeds).
class ImagePrompt final : public StepBlock {
 public:
  Component<IPAdapter> ip_adapter;
  Component<CLIPVisionModel> image_encoder{this, "image_encoder"};
  Component<UNet2DConditionModel> unet{this, "unet"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Described<ImageProcessor> feature_extractor{this, "feature_extractor"};
  Input<io::Image> image;
  Config<Json> scale{this, keys::ip_adapter_scale};
  Config<Json> image_processor{this, keys::image_processor};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Output<ImagePromptValues> values;

  explicit ImagePrompt(size_t place);
  void run(Frame& frame) const override;
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;

 private:
  std::vector<const io::Image*> images_of(Frame& frame) const;
  std::vector<const io::Image*> masks_given(Frame& frame) const;
  Tensor encoded(Frame& frame, const Tensor& pixels) const;
  ImagePromptValues::Prompt prompt_of(Frame& frame, const Values& made, int64_t first,
                                      int64_t count) const;
  std::vector<Value> masks_of(Frame& frame, const io::Image* mask) const;
  std::string name(const std::string& what) const;
  void check_masks(Checks& checks) const;
  void settle_image_processor(Checks& checks) const;
  void check_layers(Checks& checks, const std::vector<ImagePromptSite>& sites) const;

  size_t place_;
  std::deque<OptionalInput<io::Image>> further_images_, mask_ports_;
};

}  // namespace omnirt::blocks
