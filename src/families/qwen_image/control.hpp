#pragma once
#include "blocks/encode_control_image.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"

namespace omnirt::qwen_image {

// Any of the ControlNets is one for inpainting.
Trigger any_control_reads_mask();

// For the ControlNet for inpainting at `place`: the image's latents without what is repainted, and
// where it is kept. The reference samples the latents by torch's generator for all; here that has
// each image's seed, as after torch.manual_seed (reference: QwenImageControlNetInpaintPipeline).
class EncodeMaskedControl final : public Block {
 public:
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Input<Tensor> mask_pixels{this, slots::mask_pixels};
  Input<Tensor> mask_latents{this, slots::mask_latents};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Value> control;

  explicit EncodeMaskedControl(size_t place);
  void run(Frame& frame) const override;
  void check(Checks& checks) const override { tiling.check(checks, vae); }
};

}  // namespace omnirt::qwen_image
