#pragma once
#include <cstdint>
#include <vector>

#include "base/keys.hpp"
#include "blocks/autoencoder_tiles.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::flux {

inline constexpr Key<int64_t> max_area{
    "max_area",
    int64_t{1024} * 1024,
    {256, 64 * 1024 * 1024},
    "max-area",
    "pixels of the image that is made: width and height say its shape, and are scaled to this"};
inline constexpr Key<bool> auto_resize{
    "auto_resize",
    true,
    {},
    "auto-resize",
    "give the image to go by the nearest of the sizes that the model was trained on"};

inline constexpr Slot<std::vector<io::Image>> image_reference{
    "image_reference", "the image to go by in place of the one that is repainted", {}};
inline constexpr Slot<Tensor> reference_latents{
    "reference_latents", "tokens of the image to go by", {"1", "N", "C'"}};
inline constexpr Slot<Tensor> reference_ids{
    "reference_ids", "their positions: 1, row, column, 0", {"1", "N", "4"}};

struct KontextSize {
  int64_t width = 0, height = 0;
  bool operator==(const KontextSize&) const = default;
};

// Width and height of that shape and of at most `area` pixels, in whole tokens (reference:
// FluxKontextPipeline.__call__).
KontextSize of_area(KontextSize wanted, int64_t area, int64_t token);
// The size at which a reference image is encoded (reference: PREFERRED_KONTEXT_RESOLUTIONS).
KontextSize looked_at(KontextSize given, bool resized, int64_t token);

// Settles the size of the image that is made.
class SizeOfArea final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<int64_t> area{this, max_area};
  Described<nn::Autoencoder> vae{this, "vae"};

  explicit SizeOfArea(Trigger trigger)
      : Block("image_size", Stage::prepare_conditions, Guidance::shared, std::move(trigger)) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
};

// Settles the size of an image that is repainted: the one at which the given image is looked at
// (reference: FluxKontextInpaintPipeline.__call__). Refuses others.
class SizeOfRepainted final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> resizes{this, auto_resize};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<io::Image> image{this, "image"};

  explicit SizeOfRepainted(Trigger trigger)
      : Block("size_of_repainted", Stage::prepare_conditions, Guidance::shared,
              std::move(trigger)) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  void settle_side(Checks& checks, const Config<int64_t>& side, int64_t pixels) const;
};

// The image that is repainted: the mode of the encoder's distribution, one for each image of the
// run.
class EncodeRepainted final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Tensor> image_latents{this, slots::image_latents};

  explicit EncodeRepainted(Trigger trigger)
      : Block("encode_image", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

// The reference image as tokens: the mode of the encoder's distribution, so that nothing is drawn.
class EncodeReference final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<bool> resizes{this, auto_resize};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Output<Tensor> latents{this, reference_latents};
  Output<Tensor> ids{this, reference_ids};

  explicit EncodeReference(Trigger trigger)
      : Block("encode_reference", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  // An image of less than a token per side cannot be encoded.
  void check(Checks& checks) const override;
};

// An image of its own to go by, where one is repainted (reference: FluxKontextInpaintPipeline's
// image_reference, which takes one).
class EncodeOtherReference final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<bool> resizes{this, auto_resize};
  blocks::TilingPorts tiling{this};
  Input<std::vector<io::Image>> images{this, image_reference};
  Output<Tensor> latents{this, reference_latents};
  Output<Tensor> ids{this, reference_ids};

  explicit EncodeOtherReference(Trigger trigger)
      : Block("encode_other_reference", Stage::prepare_latents, Guidance::shared,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

}  // namespace omnirt::flux
