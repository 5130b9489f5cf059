#pragma once
#include "blocks/autoencoder_tiles.hpp"
#include "blocks/control_keys.hpp"
#include "blocks/fit_images.hpp"
#include "blocks/reference_tokens.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "nn/network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::qwen_image {

// In-context control: a control image as tokens after those of the image that is made, as large as
// it, for a transformer whose LoRA knows them (DiffSynth-Studio
// QwenImageUnit_ContextImageEmbedder).
class EncodeContextImage final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<ImageFit> image_fit{this, keys::image_fit};
  blocks::TilingPorts tiling{this};
  Described<nn::Network> controlnet{this, "controlnet"};
  Input<io::Image> context_image{this, "context_image",
                                 "a control image (edges, depth, a pose) that the prompt's image "
                                 "follows in context, by a LoRA"};
  Output<Tensor> latents{this, slots::reference_latents};
  Output<Tensor> ids{this, slots::reference_ids};

  EncodeContextImage();
  void check(Checks& checks) const override;
  void run(Frame& frame) const override;
};

}  // namespace omnirt::qwen_image
