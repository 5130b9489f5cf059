#pragma once
#include "blocks/autoencoder_tiles.hpp"
#include "blocks/control_keys.hpp"
#include "blocks/fit_images.hpp"
#include "blocks/slots.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "nn/control_network.hpp"
#include "pipeline/keys.hpp"
#include "tensor/generator.hpp"

namespace omnirt::blocks {

// What the ControlNet of tokens at a place is given of its control image.
std::string control_values_name(size_t place);
inline constexpr const char* control_values_help = "the control image as its ControlNet reads it";
const std::vector<std::string>& control_values_shape();
// The ControlNet at the place is one for inpainting (nn::ControlNetwork::reads_mask).
Trigger control_reads_mask(size_t place);
// It looks at what each block of the denoiser made (nn::ControlNetwork::feeds_back).
Trigger control_feeds_back(size_t place);

// The control image of the ControlNet at `place`, as that reads it: latents, a sample of the
// encoder's distribution for each image of the run, or pixels. Comes before what draws the first
// noise (reference: FluxControlNetPipeline, QwenImageControlNetPipeline).
class EncodeControlImage final : public Block {
 public:
  Component<nn::ControlNetwork> controlnet;
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<Json> preprocess{this, keys::control_preprocess};
  Config<ImageFit> image_fit{this, keys::image_fit};
  TilingPorts tiling{this};
  Input<io::Image> control_image;
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Value> control;

  explicit EncodeControlImage(size_t place);
  void run(Frame& frame) const override;
  void check(Checks& checks) const override { tiling.check(checks, vae); }

 private:
  size_t place_;
};

}  // namespace omnirt::blocks
