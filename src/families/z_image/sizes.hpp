#pragma once
#include "io/image.hpp"
#include "networks/z_image_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::z_image {

// Settles width and height: the request's, else those of the given image, else 1024 pixels; and
// checks that they are whole tokens, and no more than the transformer has positions for.
class ImageSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<ZImageTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<io::Image> image{this, "image"};

  ImageSize() : Block("image_size", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  void check_positions(Checks& checks, const Config<int64_t>& side, size_t axis,
                       int64_t grid) const;
};

}  // namespace omnirt::z_image
