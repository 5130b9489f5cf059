#pragma once
#include <memory>
#include <vector>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/slots.hpp"
#include "families/flux3/sizes.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

namespace omnirt::flux3 {

inline constexpr Slot<std::vector<io::Image>> image_reference{
    "image_reference", "further images to go by", {}};
inline constexpr Slot<Tensor> reference_latents{
    "reference_latents", "tokens of the images to go by", {"1", "N", "C"}};
inline constexpr Slot<Tensor> reference_ids{
    "reference_ids", "their positions: 0, row, column, which image", {"1", "N", "4"}};

// At `size`, the image in the middle and its reflections around it (reference:
// Flux3ImageProcessor._resize_and_fill, numpy.pad).
io::Image reflected_to(const io::Image& image, Size size, int64_t grid);

// The images to go by, as tokens next to those that are made (reference:
// Flux3VaeEncoderSequentialStep, Flux3PrepareImageCondLatentsStep): a single one whole, of several
// each one's middle.
class EncodeReferences final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> latents{this, reference_latents};
  Output<Tensor> ids{this, reference_ids};

  explicit EncodeReferences(Trigger trigger)
      : Block("encode_references", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// An image made at the size of a single image's canvas is cut back to that image.
class CropToReference final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  InOut<std::vector<io::Image>> images{this, slots::images};

  explicit CropToReference(Trigger trigger)
      : Block("crop_to_reference", Stage::decode, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

}  // namespace omnirt::flux3
