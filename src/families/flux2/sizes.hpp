#pragma once
#include <cstdint>

#include "blocks/reference_images.hpp"
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::flux2 {

using blocks::in_whole_latents, blocks::limited, blocks::Size;

// Settles width and height: the request's; else those of the image that is edited, or the model's.
// An image that is repainted keeps its own. Refuses images that cannot be encoded.
class ImageSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<nn::DenoiserNetwork> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<io::Image> image{this, "image"};
  Described<std::vector<io::Image>> references{this, "image_reference"};

  ImageSize() : Block("image_size", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  void check_images(Checks& checks, int64_t grid) const;
};

}  // namespace omnirt::flux2
