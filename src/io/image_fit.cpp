#include "io/image_fit.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "io/image_resize.hpp"

namespace omnirt::io {
namespace {

// The size that `image` takes, in its own shape, to fit within width x height or (`cover`) to cover
// it; as the reference rounds.
Region scaled_size(const Image& image, int64_t width, int64_t height, bool cover) {
  const double wanted = static_cast<double>(width) / static_cast<double>(height);
  const double own = static_cast<double>(image.width) / static_cast<double>(image.height);
  const bool by_width = cover ? wanted > own : wanted < own;
  Region size;
  size.width = by_width ? width : std::max<int64_t>(1, image.width * height / image.height);
  size.height = by_width ? std::max<int64_t>(1, image.height * width / image.width) : height;
  return size;
}

// The row or column next to an edge, as Pillow's bicubic filter extends it from a box of no height:
// 9/8 of the edge less 1/8 of its neighbour.
uint8_t beyond(uint8_t edge, uint8_t neighbour) {
  return static_cast<uint8_t>(std::clamp((9 * edge - neighbour + 4) >> 3, 0, 255));
}

// Fills rows first .. last - 1 of `image` with what follows from the row `edge` and that next to
// it.
void extend_rows(Image& image, int64_t first, int64_t last, int64_t edge, int64_t neighbour) {
  for (int64_t y = std::max<int64_t>(0, first); y < std::min(last, image.height); ++y) {
    const uint8_t *a = image.row(edge), *b = image.row(neighbour);
    std::transform(a, a + image.row_bytes(), b, image.row(y), beyond);
  }
}

void extend_columns(Image& image, int64_t first, int64_t last, int64_t edge, int64_t neighbour) {
  for (int64_t y = 0; y < image.height; ++y) {
    uint8_t* row = image.row(y);
    for (int64_t x = std::max<int64_t>(0, first); x < std::min(last, image.width); ++x) {
      for (int64_t c = 0; c < image.channels; ++c) {
        row[x * image.channels + c] =
            beyond(row[edge * image.channels + c], row[neighbour * image.channels + c]);
      }
    }
  }
}

Image covering(const Image& image, int64_t width, int64_t height) {
  const Region size = scaled_size(image, width, height, true);
  Image result = Image::zeros(width, height, image.channels);
  paste(result, resize_lanczos(image, size.width, size.height), width / 2 - size.width / 2,
        height / 2 - size.height / 2);
  return result;
}

// An image of one row or column has no neighbour: its edge is repeated.
Image filled(const Image& image, int64_t width, int64_t height) {
  const Region size = scaled_size(image, width, height, false);
  const int64_t left = width / 2 - size.width / 2, top = height / 2 - size.height / 2;
  Image result = Image::zeros(width, height, image.channels);
  paste(result, resize_lanczos(image, size.width, size.height), left, top);
  const int64_t right = left + size.width, bottom = top + size.height;
  const int64_t across = size.width > 1 ? 1 : 0, down = size.height > 1 ? 1 : 0;
  if (size.height < height && top > 0) {
    extend_rows(result, 0, top, top, top + down);
    extend_rows(result, bottom, bottom + top, bottom - 1, bottom - 1 - down);
  } else if (size.width < width && left > 0) {
    extend_columns(result, 0, left, left, left + across);
    extend_columns(result, right, right + left, right - 1, right - 1 - across);
  }
  return result;
}

}  // namespace

void paste(Image& target, const Image& image, int64_t x, int64_t y) {
  const int64_t left = std::max<int64_t>(0, -x), right = std::min(image.width, target.width - x);
  const int64_t top = std::max<int64_t>(0, -y), bottom = std::min(image.height, target.height - y);
  if (right <= left) return;
  for (int64_t row = top; row < bottom; ++row) {
    std::copy_n(image.row(row) + left * image.channels,
                static_cast<size_t>((right - left) * image.channels),
                target.row(y + row) + (x + left) * image.channels);
  }
}

Image crop(const Image& image, const Region& region) {
  ensure(region.x >= 0 && region.y >= 0 && region.width >= 1 && region.height >= 1 &&
             region.x + region.width <= image.width && region.y + region.height <= image.height,
         "a region {}x{} at {}, {} of an image {}x{}", region.width, region.height, region.x,
         region.y, image.width, image.height);
  Image part = Image::zeros(region.width, region.height, image.channels);
  paste(part, image, -region.x, -region.y);
  return part;
}

Image fit_image(const Image& image, int64_t width, int64_t height, ImageFit fit) {
  if (image.width == width && image.height == height) return image;
  switch (fit) {
    case ImageFit::stretch:
      return resize_lanczos(image, width, height);
    case ImageFit::crop:
      return covering(image, width, height);
    case ImageFit::fill:
      return filled(image, width, height);
  }
  throw InternalError("a fit outside its enumeration");
}

}  // namespace omnirt::io
