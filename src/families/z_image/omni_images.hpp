#pragma once
#include <vector>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/siglip2_image.hpp"
#include "families/z_image/omni_prompt.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::z_image {

inline constexpr Key<int64_t> reference_area{
    "reference_area",
    std::monostate{},
    {1, int64_t{1} << 26},
    "",
    "pixels of an image to go by that has more than 1024 * 1024; unset: width * height where both "
    "are given, else 1024 * 1024"};

inline constexpr Slot<std::vector<Value>> omni_latents{"omni_latents", "the images to go by"};
inline constexpr Slot<std::vector<Value>> siglip_features{
    "siglip_features", "what SigLIP2 sees of the images to go by"};
inline constexpr Slot<Tensor> siglip_grids{
    "siglip_grids", "in how many rows and columns of patches", {"N", "2"}};
inline constexpr Slot<std::vector<Value>> siglip_places{
    "siglip_places", "where its patches are among an image's latents: row, column"};

// Settles width and height: the request's; else those of the last image to go by, or 1024 pixels.
// Refuses images that the reference does, and those that the transformer has no positions for.
class OmniSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> area{this, reference_area};
  Described<ZImageTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<io::Image> image{this, "image"};
  Described<std::vector<io::Image>> references{this, "image_reference"};

  OmniSize() : Block("image_size", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  // False where one was refused.
  bool check_images(Checks& checks, int64_t pixels) const;
  void check_positions(Checks& checks, const Config<int64_t>& side, size_t axis) const;
};

// What SigLIP2 sees of each image to go by (reference: ZImageOmniPipeline.prepare_siglip_embeds),
// {1, N, D} in the order in which the transformer reads it.
class LookAtImages final : public Block {
 public:
  Component<Siglip2VisionModel> siglip{this, "siglip"};
  Component<blocks::Siglip2ImageProcessor> processor{this, "siglip_processor"};
  Described<ZImageTransformer2DModel> transformer{this, "transformer"};
  Config<int64_t> area{this, reference_area};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  Output<std::vector<Value>> features{this, siglip_features};
  Output<Tensor> grids{this, siglip_grids};

  explicit LookAtImages(Trigger trigger)
      : Block("look_at_images", Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
};

// The images to go by as latents {1, C, h, w} (reference: prepare_image_latents), and where what
// SigLIP2 sees is among these, {1, N, 2}.
class EncodeOmniImages final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  blocks::TilingPorts tiling{this};
  Config<int64_t> area{this, reference_area};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  Input<Tensor> grids{this, siglip_grids};
  Output<std::vector<Value>> latents{this, omni_latents};
  Output<std::vector<Value>> places{this, siglip_places};

  explicit EncodeOmniImages(Trigger trigger)
      : Block("encode_images", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override { tiling.check(checks, vae); }
};

// Hands the images to go by to the transformer at each step, the same for all of a batch.
class GoByImages final : public StepBlock {
 public:
  Input<std::vector<Value>> texts{this, captions};
  Input<std::vector<Value>> latents{this, omni_latents};
  Input<std::vector<Value>> features{this, siglip_features};
  Input<std::vector<Value>> places{this, siglip_places};

  explicit GoByImages(Trigger trigger)
      : StepBlock("go_by_images", Stage::denoise_loop, Guidance::shared, std::move(trigger)) {}
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
};

}  // namespace omnirt::z_image
