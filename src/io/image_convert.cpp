#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "io/image.hpp"

namespace omnirt::io {
namespace {

// Where a turned image takes its pixels from: source index = start + x * across + y * down.
struct Walk {
  int64_t start;
  int64_t across;
  int64_t down;
};

// EXIF 2.3, 4.6.4 A: what the stored first row and column are on the upright image.
Walk walk_of(int orientation, int64_t width, int64_t height) {
  const int64_t last_row = (height - 1) * width;
  switch (orientation) {
    case 2:
      return {width - 1, -1, width};
    case 3:
      return {last_row + width - 1, -1, -width};
    case 4:
      return {last_row, 1, -width};
    case 5:
      return {0, width, 1};
    case 6:
      return {last_row, -width, 1};
    case 7:
      return {last_row + width - 1, -width, -1};
    default:
      return {width - 1, width, -1};
  }
}

void refuse_sheet(const char* field, const std::string& value, const std::string& message,
                  const char* way_out = "give a number within them") {
  throw InvalidRequest(Finding{field, value, message, way_out});
}

void paste(const Image& rgb, Image& sheet, int64_t left, int64_t top) {
  for (int64_t y = 0; y < rgb.height; ++y) {
    std::memcpy(sheet.row(top + y) + left * 3, rgb.row(y), rgb.row_bytes());
  }
}

struct SheetLayout {
  int64_t cell_width = 0;
  int64_t cell_height = 0;
  int64_t width = 0;
  int64_t height = 0;
};

SheetLayout lay_out(std::span<const Image> images, int64_t columns, int64_t gap) {
  const ImageLimits limits;
  if (images.empty()) refuse_sheet("images", "none", "a sheet needs an image", "name image files");
  if (columns < 1 || columns > limits.max_side) {
    refuse_sheet("columns", std::to_string(columns),
                 fmt::format("must be 1 to {}", limits.max_side));
  }
  if (gap < 0 || gap > limits.max_side) {
    refuse_sheet("gap", std::to_string(gap), fmt::format("must be 0 to {}", limits.max_side));
  }
  SheetLayout layout;
  for (const Image& image : images) {
    layout.cell_width = std::max(layout.cell_width, image.width);
    layout.cell_height = std::max(layout.cell_height, image.height);
  }
  const auto count = static_cast<int64_t>(images.size());
  const int64_t used_columns = std::min(columns, count);
  const int64_t rows = (count + columns - 1) / columns;
  layout.width = used_columns * (layout.cell_width + gap) + gap;
  layout.height = rows * (layout.cell_height + gap) + gap;
  if (layout.width > limits.max_side || layout.height > limits.max_side ||
      layout.width * layout.height > limits.max_pixels) {
    refuse_sheet("images", fmt::format("a sheet of {}x{}", layout.width, layout.height),
                 fmt::format("a side is at most {} and an image {} pixels", limits.max_side,
                             limits.max_pixels),
                 "give fewer or smaller images");
  }
  return layout;
}

}  // namespace

Image to_rgb(const Image& image) {
  if (image.channels == 3) return image;
  Image rgb = Image::zeros(image.width, image.height, 3);
  const uint8_t* in = image.pixels.data();
  const int64_t step = image.channels;
  const int64_t colour = image.channels == 1 ? 0 : 1;
  for (size_t i = 0; i < rgb.pixels.size(); i += 3, in += step) {
    for (int64_t c = 0; c < 3; ++c) rgb.pixels[i + c] = in[c * colour];
  }
  return rgb;
}

Image to_grey(const Image& image) {
  if (image.channels == 1) return image;
  Image grey = Image::zeros(image.width, image.height, 1);
  const uint8_t* in = image.pixels.data();
  for (uint8_t& out : grey.pixels) {
    out = static_cast<uint8_t>((in[0] * 19595U + in[1] * 38470U + in[2] * 7471U + 0x8000U) >> 16);
    in += image.channels;
  }
  return grey;
}

Image orient(const Image& image, int orientation) {
  if (orientation < 2 || orientation > 8) return image;
  const bool sideways = orientation >= 5;
  Image turned = Image::zeros(sideways ? image.height : image.width,
                              sideways ? image.width : image.height, image.channels);
  const Walk walk = walk_of(orientation, image.width, image.height);
  uint8_t* out = turned.pixels.data();
  for (int64_t y = 0; y < turned.height; ++y) {
    for (int64_t x = 0; x < turned.width; ++x, out += image.channels) {
      const int64_t from = walk.start + x * walk.across + y * walk.down;
      std::copy_n(image.pixels.data() + from * image.channels, image.channels, out);
    }
  }
  return turned;
}

Image make_sheet(std::span<const Image> images, int64_t columns, int64_t gap,
                 std::array<uint8_t, 3> background) {
  const SheetLayout layout = lay_out(images, columns, gap);
  Image sheet = Image::zeros(layout.width, layout.height, 3);
  for (size_t i = 0; i < sheet.pixels.size(); ++i) sheet.pixels[i] = background[i % 3];
  for (size_t i = 0; i < images.size(); ++i) {
    const Image& image = images[i];
    const int64_t column = static_cast<int64_t>(i) % columns;
    const int64_t row = static_cast<int64_t>(i) / columns;
    paste(to_rgb(image), sheet,
          gap + column * (layout.cell_width + gap) + (layout.cell_width - image.width) / 2,
          gap + row * (layout.cell_height + gap) + (layout.cell_height - image.height) / 2);
  }
  return sheet;
}

}  // namespace omnirt::io
