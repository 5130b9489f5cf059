#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "blocks/reference_images.hpp"
#include "io/image_fit.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::flux3 {

using blocks::in_whole_latents, blocks::limited, blocks::Size;

// The pixels that sides of reference images are multiples of: 16, whatever the autoencoder, and at
// least one packed latent of it (reference: Flux3ImageProcessor, which the pipeline makes with its
// default vae_scale_factor).
int64_t image_grid(int64_t pixels_of_latent);

// A single reference image of this size, kept whole: the size that it is scaled to, and the canvas
// that it is put in the middle of, multiples of `grid` pixels and at most 4 megapixels
// (reference: Flux3ImageProcessor._resize_if_canvas_exceeds_area, _get_canvas_height_width).
struct Placed {
  Size image, canvas;
  // Where the image is on the canvas.
  io::Region region() const;
};
Placed placed(Size size, int64_t grid);

// Settles width and height: the request's, or those of the first reference image as it is encoded.
// Refuses images that cannot be encoded.
class ImageSize final : public Block {
 public:
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<io::Image> image{this, "image"};
  Described<std::vector<io::Image>> references{this, "image_reference"};

  ImageSize() : Block("image_size", Stage::prepare_conditions) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  // Of the first image, encoded; nullopt where there is none, or an image was refused.
  std::optional<Size> of_reference(Checks& checks, int64_t grid) const;
};

}  // namespace omnirt::flux3
