#pragma once
#include <vector>

#include "blocks/qwen2_vl_image.hpp"
#include "blocks/slots.hpp"
#include "families/qwen_image21/sizes.hpp"
#include "networks/qwen3_vl_for_conditional_generation/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::qwen_image21 {

inline constexpr Slot<Tensor> image_tokens{
    "image_tokens",
    "what the text encoder's vision tower sees of the images, that of its layers side by side",
    {"1", "N", "D"}};
inline constexpr Slot<Tensor> image_grids{
    "image_grids", "rows and columns of each image's tokens", {"images", "2"}};

// The images to go by as the text encoder's vision tower sees them, in front of white where they
// have an alpha channel (reference: QwenImage21Pipeline._get_qwen_prompt_embeds).
class LookAtImages final : public Block {
 public:
  Component<Qwen3VLForConditionalGeneration> text_encoder{this, "text_encoder"};
  Component<blocks::Qwen2VLImageProcessor> processor{this, "processor"};
  Config<int64_t> resolution{this, output_resolution};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  Output<Tensor> tokens{this, image_tokens};
  Output<Tensor> grids{this, image_grids};

  explicit LookAtImages(Trigger trigger)
      : Block("look_at_images", Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  // The processor must leave images as they are, so that a token is a square of latents.
  void check_loaded(Checks& checks) const override;
};

}  // namespace omnirt::qwen_image21
