#pragma once
#include <cstdint>
#include <span>

#include "networks/pixart_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::pixart {

struct Size {
  int64_t height = 0, width = 0;
  bool operator==(const Size&) const = default;
};

// The sizes that networks of this sample_size were trained on, by aspect ratio, in pixels
// (reference: ASPECT_RATIO_256_BIN and on); empty where there are none.
struct Bin {
  double ratio;  // height / width, as the reference rounds it
  Size size;
};
std::span<const Bin> bins_of(int64_t sample_size);

// The size that an image of `wanted` is made at: the bin of the nearest ratio, the first of
// equally near ones (reference: PixArtImageProcessor.classify_height_width_bin).
Size binned(Size wanted, std::span<const Bin> bins);

// Settles width and height: the request's, or those of the model's training; and checks that the
// image can be made.
class ImageSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<bool> binning;
  Described<PixArtTransformer2DModel> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};

  ImageSize();
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;
};

}  // namespace omnirt::pixart
