#pragma once
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::keys {

inline constexpr Key<int64_t> mask_blur{
    "mask_blur",
    std::monostate{},
    {1, 256},
    "mask-blur",
    "standard deviation in pixels of a Gaussian over the mask; the original is put back where the "
    "mask is black, and blended where it is gray"};
inline constexpr Key<int64_t> padding_mask_crop{
    "padding_mask_crop",
    std::monostate{},
    {0, 8192},
    "padding-mask-crop",
    "inpaint only the masked part, with this many pixels around it, at width x height; it is put "
    "back into the image, which keeps its size"};

}  // namespace omnirt::keys

namespace omnirt::slots {

inline constexpr Slot<io::Image> mask{"mask",
                                      "white where the image is repainted, black where it is kept"};
inline constexpr Slot<io::Image> original_image{"original_image", "the image as it was given"};
inline constexpr Slot<io::Image> original_mask{"original_mask",
                                               "the mask as it was given, blurred where asked for"};

}  // namespace omnirt::slots

namespace omnirt::blocks {

// Smooths the mask's edge (reference: VaeImageProcessor.blur).
class BlurMask final : public Block {
 public:
  Config<int64_t> mask_blur{this, keys::mask_blur};
  InOut<io::Image> mask{this, slots::mask};

  explicit BlurMask(Trigger trigger)
      : Block("blur_mask", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// Leaves of image and mask the part that is repainted and its surroundings, at the size of the
// image that is made (reference: padding_mask_crop of StableDiffusionInpaintPipeline).
class CropToMask final : public Block {
 public:
  Config<int64_t> padding{this, keys::padding_mask_crop};
  Config<int64_t> mask_blur{this, keys::mask_blur};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  InOut<io::Image> image{this, slots::image};
  InOut<io::Image> mask{this, slots::mask};
  Output<io::Image> original_image{this, slots::original_image};
  Output<io::Image> original_mask{this, slots::original_mask};
  Described<io::Image> control_image{this, "control_image"};
  Described<io::Image> adapter_image{this, "adapter_image"};
  Described<std::vector<io::Image>> entity_masks{this, "entity_masks"};

  explicit CropToMask(Trigger trigger)
      : Block("crop_to_mask", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void check(Checks& checks) const override;
  void run(Frame& frame) const override;
};

// The repainted part, in its place in the original (reference: VaeImageProcessor.apply_overlay).
class PutBackPart final : public Block {
 public:
  Config<int64_t> padding{this, keys::padding_mask_crop};
  Input<io::Image> original_image{this, slots::original_image};
  Input<io::Image> original_mask{this, slots::original_mask};
  InOut<std::vector<io::Image>> images{this, slots::images};

  explicit PutBackPart(Trigger trigger)
      : Block("put_back_part", Stage::decode, Guidance::shared, std::move(trigger)) {}
  void check_loaded(Checks& checks) const override;
  void run(Frame& frame) const override;
};

// The original where a blurred mask keeps it (reference: VaeImageProcessor.apply_overlay).
class PutBackOriginal final : public Block {
 public:
  Input<io::Image> image{this, slots::image};
  Input<io::Image> mask{this, slots::mask};
  InOut<std::vector<io::Image>> images{this, slots::images};

  explicit PutBackOriginal(Trigger trigger)
      : Block("put_back_original", Stage::decode, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// Whether only the masked part is made: then CropToMask looks at the mask.
bool crops_to_mask(const Checks& checks);
// A warning where the mask's shape is in its alpha channel.
void warn_of_alpha(Checks& checks, const std::string& path, const io::Image& mask);

// For a list that inpaints: what prepares image and mask (before any block takes them), and what
// puts the original back (after decoding). `image`: when the request has one.
BlockList given_image_blocks(const Trigger& image, const Trigger& inpaint);
BlockList put_back_blocks(const Trigger& inpaint);

}  // namespace omnirt::blocks
