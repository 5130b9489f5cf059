#pragma once
#include "blocks/encode_control_image.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"

namespace omnirt::sd3 {

// The control image of the ControlNet at `place` as latents: a sample for each image under the
// prompt, and, where there is guidance, another under the negative prompt. The reference draws
// them, the latter's first, from torch's generator for all; here that has each image's seed, as
// after torch.manual_seed (reference: StableDiffusion3ControlNetPipeline).
class EncodeControl final : public Block {
 public:
  Component<nn::ControlNetwork> controlnet;
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<Json> preprocess{this, keys::control_preprocess};
  Config<ImageFit> image_fit{this, keys::image_fit};
  blocks::TilingPorts tiling{this};
  Input<io::Image> control_image;
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Value> control;

  explicit EncodeControl(size_t place);
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  // {images, C, H, W} under the prompt, then as many under the negative one.
  Tensor drawn(Frame& frame) const;
  size_t place_;
};

}  // namespace omnirt::sd3
