#pragma once
#include "io/image.hpp"
#include "nn/autoencoder.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// A side that the request does not set, from the sample_size of the component `denoiser`, latents
// of `grid` pixels each.
void settle_from_model(Checks& checks, const Config<int64_t>& side, const Port& denoiser,
                       int64_t sample_size, int64_t grid);
// A finding where a side that was given is not whole latents of `grid` pixels.
void check_grid(Checks& checks, const Config<int64_t>& side, int64_t given, int64_t grid);
// A finding where a side is more than the `most` pixels that the transformer has positions for.
void check_positions(Checks& checks, const Config<int64_t>& side, int64_t pixels, int64_t most);
// A finding, and false, where the transformer's config key `name` has other than the latents'
// channels.
bool check_latent_channels(Checks& checks, const nn::Autoencoder& vae, const std::string& name,
                           int64_t channels);
// Width and height from those of the image that the input `of` brings, where the request does not
// set them: rounded down to whole latents, as the reference does.
void settle_from_image(Checks& checks, const Config<int64_t>& width, const Config<int64_t>& height,
                       const std::string& of, const io::ImageInfo& info, int64_t grid);
// What an image of this size and its latents mean in the ports' shapes: H, W, H/8, W/8 and C.
void tell_image_sizes(int64_t width, int64_t height, const nn::Autoencoder& vae,
                      SymbolSizes& sizes);

// Settles width and height before anything else takes them: the request's, which must be multiples
// of the latents' grid; else those of the model's training, or of the given image.
class SizeOfImage final : public Block {
 public:
  enum class Unset { model, image };
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Described<nn::DenoiserNetwork> unet{this, "unet"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<io::Image> image;

  // `unset`: whose size is taken when the request sets none (reference: image2image the image's,
  // else the model's).
  // `of`: the input whose size is the image's.
  SizeOfImage(std::string name, Unset unset, Trigger trigger, const std::string& of = "image")
      : Block(std::move(name), Stage::prepare_conditions, Guidance::shared, std::move(trigger)),
        image(this, of),
        unset_(unset) {}
  void run(Frame&) const override {}
  void check(Checks& checks) const override;
  void tell_sizes(const Checks& checks, SymbolSizes& sizes) const override;

 private:
  Unset unset_;
};

}  // namespace omnirt::blocks
