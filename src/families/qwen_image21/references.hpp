#pragma once
#include <vector>

#include "blocks/autoencoder_tiles.hpp"
#include "blocks/reference_tokens.hpp"
#include "families/qwen_image21/sizes.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/frame.hpp"

namespace omnirt::qwen_image21 {

// The images to go by, with their alpha channels, as tokens (reference:
// QwenImage21Pipeline.prepare_latents).
class EncodeReferences final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> resolution{this, output_resolution};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  OptionalInput<std::vector<io::Image>> further{this, image_reference};
  Output<Tensor> latents{this, slots::reference_latents};

  explicit EncodeReferences(Trigger trigger)
      : Block("encode_references", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void check(Checks& checks) const override;
  void run(Frame& frame) const override;
};

}  // namespace omnirt::qwen_image21
