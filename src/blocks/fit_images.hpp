#pragma once
#include "blocks/slots.hpp"
#include "io/image_fit.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::keys {

inline constexpr Key<ImageFit> image_fit{
    "image_fit", ImageFit::stretch, "image-fit",
    "how given images and masks of another shape are fitted to the image's size: stretched, "
    "cropped along their longer side, or whole with their edges extended"};

}  // namespace omnirt::keys

namespace omnirt::blocks {

// A given image (or mask) at the size of the image that is made, where it is not just stretched
// (reference: VaeImageProcessor's resize_mode).
class FitImage final : public Block {
 public:
  Config<ImageFit> image_fit{this, keys::image_fit};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  InOut<io::Image> image;

  FitImage(std::string name, const Slot<io::Image>& of, Trigger trigger)
      : Block(std::move(name), Stage::prepare_latents, Guidance::shared, std::move(trigger)),
        image(this, of) {}
  void run(Frame& frame) const override;
};

}  // namespace omnirt::blocks
