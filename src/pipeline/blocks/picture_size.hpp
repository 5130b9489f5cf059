#pragma once
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// Pixels a latent, by the autoencoder's config: 2 ^ (levels - 1).
int64_t pixels_per_latent(const Proposal& proposal);

// Settles width and height before anything else takes them: the request's, which must be multiples
// of the latents' grid; else those of the model's training, or of the given image.
class PictureSize final : public Block {
 public:
  enum class Unset { model, image };
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};

  // `unset`: whose size is taken when the request gives none (reference: image2image the picture's,
  // else the model's).
  // `image`: the input whose size is the picture's.
  PictureSize(std::string name, Unset unset, Trigger trigger, std::string image = "image")
      : Block(std::move(name), Stage::prepare_conditions, Guidance::shared, std::move(trigger)),
        unset_(unset),
        image_(std::move(image)) {}
  void run(Frame&) const override {}
  void check(Proposal& proposal) const override;

 private:
  Unset unset_;
  std::string image_;
};

}  // namespace omnirt::blocks
