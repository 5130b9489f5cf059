#pragma once
#include <memory>
#include <vector>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

namespace omnirt::flux2 {

inline constexpr Slot<std::vector<io::Image>> image_reference{
    "image_reference", "further images to go by", {}};
inline constexpr Slot<Tensor> reference_latents{
    "reference_latents", "tokens of the images to go by", {"1", "N", "C"}};
inline constexpr Slot<Tensor> reference_ids{
    "reference_ids", "their positions: time, row, column, 0", {"1", "N", "4"}};
// The same for a model that keeps what its blocks make of them.
inline constexpr Slot<Tensor> kept_reference_latents{
    "kept_reference_latents",
    "tokens of the images to go by, whose keys and values are kept",
    {"1", "N", "C"}};
inline constexpr Slot<Tensor> kept_reference_ids{
    "kept_reference_ids", "their positions: time, row, column, 0", {"1", "N", "4"}};

// What a model does with reference images: takes them through its blocks at every step with those
// that are made, or on their own once per run.
enum class References { at_each_step, kept };

// The reference images of an edit, as tokens next to those that are made (reference:
// Flux2KleinPipeline.prepare_image_latents); the first is the one that is edited.
class EncodeReferences final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> latents;
  Output<Tensor> ids;

  EncodeReferences(References kind, Trigger trigger);
  void run(Frame& frame) const override;
};

// The image that is repainted, as latents of the run's size (reference: Flux2KleinInpaintPipeline).
class EncodeRepainted final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  blocks::TilingPorts tiling{this};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Input<io::Image> image{this, slots::image};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> image_latents{this, slots::image_latents};

  explicit EncodeRepainted(Trigger trigger)
      : Block("encode_image", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// The images that inpainting goes by: the first is the one that is repainted.
class EncodeRepaintReferences final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  blocks::TilingPorts tiling{this};
  Input<Tensor> image_latents{this, slots::image_latents};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> latents{this, reference_latents};
  Output<Tensor> ids{this, reference_ids};

  explicit EncodeRepaintReferences(Trigger trigger)
      : Block("encode_repaint_references", Stage::prepare_latents, Guidance::shared,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// How much of the image each latent is repainted, smoothly at the mask's edges (reference:
// Flux2KleinInpaintPipeline.prepare_mask_latents).
class KeepSmoothly final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Input<Tensor> mask_pixels{this, slots::mask_pixels};
  Output<Tensor> keep_mask{this, slots::keep_mask};

  explicit KeepSmoothly(Trigger trigger)
      : Block("keep_smoothly", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

}  // namespace omnirt::flux2
