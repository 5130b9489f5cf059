#pragma once
#include <memory>
#include <vector>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/slots.hpp"
#include "families/qwen_image_edit/look.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::qwen_image_edit {

inline constexpr Slot<Tensor> reference_latents{
    "reference_latents", "tokens of the images to go by", {"1", "N", "C"}};
inline constexpr Slot<Tensor> reference_ids{
    "reference_ids", "their positions: image, row, column", {"1", "N", "3"}};
inline constexpr Slot<Tensor> text_start{
    "text_start", "the first position of the text", {"1", "1"}};

// {1, rows * columns, 3}: the image's number, and rows and columns counted from its middle.
Tensor ids_of_image(int64_t number, int64_t rows, int64_t columns);

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
  Output<Tensor> latents{this, reference_latents};
  Output<Tensor> ids{this, reference_ids};
  Output<Tensor> start{this, text_start};

  EncodeEditImages() : Block("encode_edit_images", Stage::prepare_latents) {}
  void check(Checks& checks) const override { tiling.check(checks, vae); }
  void run(Frame& frame) const override;
};

}  // namespace omnirt::qwen_image_edit
