#pragma once
#include "blocks/fit_images.hpp"
#include "blocks/slots.hpp"
#include "families/qwen_image_edit/look.hpp"
#include "families/qwen_image_edit/references.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

// What an edit of a masked part has of its own: the image that is repainted is also the one to go
// by, at the size at which it is made (reference: QwenImageEditInpaintPipeline).
namespace omnirt::qwen_image_edit {

inline constexpr Slot<Tensor> repainted_tokens{
    "repainted_tokens", "tokens of the image that is repainted", {"B", "N", "C"}};

// The image as the text encoder's vision tower sees it: the whole one, at the size at which it is
// made.
class LookAtRepainted final : public LookAtImages {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<ImageFit> image_fit{this, keys::image_fit};

  explicit LookAtRepainted(const Trigger& trigger)
      : LookAtImages("look_at_repainted", latents_area, trigger) {}

 protected:
  io::Image seen(Frame& frame, const io::Image& given) const override;
};

// Image and mask at the size at which they are made, for padding_mask_crop: the reference cuts the
// part out of them.
class FitRepainted final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<ImageFit> image_fit{this, keys::image_fit};
  InOut<io::Image> image{this, slots::image};
  InOut<io::Image> mask{this, slots::mask};

  explicit FitRepainted(Trigger trigger)
      : Block("fit_repainted", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// Its latents, as each image of the run starts from them, as tokens after those that are made.
class GoByRepainted final : public Block {
 public:
  Input<Tensor> image_latents{this, slots::image_latents};
  Output<Tensor> tokens{this, repainted_tokens};
  Output<Tensor> ids{this, slots::reference_ids};
  Output<Tensor> start{this, text_start};

  explicit GoByRepainted(Trigger trigger)
      : Block("go_by_repainted", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

}  // namespace omnirt::qwen_image_edit
