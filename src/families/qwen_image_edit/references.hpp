#pragma once
#include <memory>
#include <vector>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/reference_tokens.hpp"
#include "blocks/slots.hpp"
#include "families/qwen_image_edit/look.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::qwen_image_edit {

inline constexpr Slot<Tensor> text_start{
    "text_start", "the first position of the text", {"1", "1"}};

// The reference images of an edit, at about a million pixels each, as tokens after those that are
// made (reference: QwenImageEditPipeline.prepare_latents, QwenEmbedRope).
class EncodeEditImages final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  Output<Tensor> latents{this, slots::reference_latents};
  Output<Tensor> ids{this, slots::reference_ids};
  Output<Tensor> start{this, text_start};

  explicit EncodeEditImages(Trigger trigger)
      : Block("encode_edit_images", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void check(Checks& checks) const override { tiling.check(checks, vae); }
  void run(Frame& frame) const override;
};

}  // namespace omnirt::qwen_image_edit
