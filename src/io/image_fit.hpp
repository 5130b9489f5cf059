#pragma once
#include "base/choice.hpp"
#include "io/image.hpp"

namespace omnirt {

// How an image takes a size of another shape: stretched; cut at its longer side; or whole, with its
// edges extended next to it.
enum class ImageFit { stretch, crop, fill };
template <>
struct ChoiceNames<ImageFit> {
  static constexpr std::array names{"stretch", "crop", "fill"};
};

}  // namespace omnirt

namespace omnirt::io {

struct Region {
  int64_t x = 0, y = 0, width = 0, height = 0;  // pixels
  bool operator==(const Region&) const = default;
};

// Copies what of `image` falls into `target` when its corner is put at {x, y}; both have the same
// channels.
void paste(Image& target, const Image& image, int64_t x, int64_t y);

// That part of the image. `ensure`s that the region is within it.
Image crop(const Image& image, const Region& region);

// At this size, resampled by Lanczos' filter (reference: VaeImageProcessor.resize, whose modes are
// called default, crop and fill; bit for bit, for images of 1 or 3 channels). Throws InvalidRequest
// as resize_lanczos does.
Image fit_image(const Image& image, int64_t width, int64_t height, ImageFit fit);

}  // namespace omnirt::io
