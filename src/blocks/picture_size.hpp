#pragma once
#include "io/image.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// A side that the request does not give, from the network's sample_size; `denoiser` is its
// component's name in what is found.
void settle_from_model(Proposal& proposal, const Key<int64_t>& key, const std::string& denoiser,
                       int64_t sample_size);

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
  void tell_sizes(const Proposal& proposal, SymbolSizes& sizes) const override;

 private:
  void settle_from_image(Proposal& proposal, const io::ImageInfo& info, int64_t grid) const;
  Unset unset_;
  std::string image_;
};

}  // namespace omnirt::blocks
