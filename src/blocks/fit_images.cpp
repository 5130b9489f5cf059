#include "blocks/fit_images.hpp"

namespace omnirt::blocks {

// Alpha is kept, since a mask may be in it.
void FitImage::run(Frame& frame) const {
  if (frame[image_fit] == ImageFit::stretch) return;
  frame[image] = io::fit_image(frame[image], frame[width], frame[height], frame[image_fit]);
}

}  // namespace omnirt::blocks
