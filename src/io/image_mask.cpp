#include "io/image_mask.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/ensure.hpp"
#include "io/image_arithmetic.hpp"

namespace omnirt::io {
namespace {

constexpr int passes = 3;

// Half the length of the box whose `passes`-fold application comes nearest to a Gaussian.
double box_radius(double radius) {
  const auto variance = static_cast<float>(radius * radius / passes);
  const float length = std::sqrt(12.0F * variance + 1.0F);
  const float whole = std::floor((length - 1.0F) / 2.0F);
  float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
  part /= 6 * (variance - (whole + 1) * (whole + 1));
  return whole + part;
}

// A box of fractional length in fixed point: full weights within, a part of one at both ends.
struct Box {
  explicit Box(double box_radius) : radius(static_cast<int64_t>(box_radius)) {
    const auto size = static_cast<float>(box_radius) * 2 + 1;
    full = static_cast<uint32_t>(static_cast<float>(1 << 24) / size);
    ends = ((1 << 24) - static_cast<uint32_t>(radius * 2 + 1) * full) / 2;
  }
  int64_t radius;
  uint32_t full, ends;
};

// Pixels beyond the line are those at its ends.
void blur_line(const std::vector<uint8_t>& in, const Box& box, std::vector<uint8_t>& out) {
  const auto count = static_cast<int64_t>(in.size());
  auto at = [&](int64_t i) {
    return static_cast<uint32_t>(in[std::clamp<int64_t>(i, 0, count - 1)]);
  };
  uint32_t sum = 0;
  for (int64_t i = -box.radius; i <= box.radius; ++i) sum += at(i);
  for (int64_t x = 0; x < count; ++x) {
    const uint32_t bulk =
        sum * box.full + (at(x - box.radius - 1) + at(x + box.radius + 1)) * box.ends;
    out[x] = static_cast<uint8_t>((bulk + (1 << 23)) >> 24);
    sum += at(x + box.radius + 1) - at(x - box.radius);
  }
}

void blur_lines(Image& image, const Box& box, bool down) {
  const int64_t lines = down ? image.width : image.height;
  const int64_t length = down ? image.height : image.width;
  std::vector<uint8_t> line(static_cast<size_t>(length)), blurred(line.size());
  for (int64_t i = 0; i < lines; ++i) {
    auto pixel = [&](int64_t k) -> uint8_t& { return down ? image.row(k)[i] : image.row(i)[k]; };
    for (int64_t k = 0; k < length; ++k) line[k] = pixel(k);
    for (int pass = 0; pass < passes; ++pass) {
      blur_line(line, box, blurred);
      line.swap(blurred);
    }
    for (int64_t k = 0; k < length; ++k) pixel(k) = line[k];
  }
}

// A side of a region: from `first` to before `last`, of 0 to before `size`.
struct Span {
  int64_t first, last;
  int64_t length() const { return last - first; }
};

// Grows by `more` on both sides, and moves back within where it would pass an end.
Span widened(Span span, int64_t more, int64_t size) {
  span.first -= more / 2;
  span.last += more - more / 2;
  const int64_t past = std::max<int64_t>(0, span.last - size);
  span.first -= past;
  span.last -= past;
  const int64_t before = std::max<int64_t>(0, -span.first);
  return {span.first + before, std::min(span.last + before, size)};
}

// Of a pixel under the original's, premultiplied by what the mask leaves of it: Pillow's
// conversions and Image.alpha_composite, which round at each step.
uint8_t composed(uint8_t original, uint8_t repainted, unsigned kept) {
  if (kept == 0) return repainted;
  const unsigned premultiplied = multiply_255(original, kept);
  const unsigned colour = kept == 255 ? premultiplied : std::min(255U, 255 * premultiplied / kept);
  constexpr unsigned bits = 7;
  const unsigned weight = kept << bits;
  const unsigned sum = colour * weight + repainted * ((255U << bits) - weight) + (0x80U << bits);
  return static_cast<uint8_t>((((sum >> 8) + sum) >> 8) >> bits);
}

bool all_equal(const Image& image, int64_t first, int64_t last) {
  int64_t count = image.width * image.height;
  for (int64_t pixel = 1; pixel < count; ++pixel) {
    const uint8_t* here = image.pixels.data() + pixel * image.channels;
    if (!std::equal(here + first, here + last, image.pixels.data() + first)) return false;
  }
  return true;
}

Image alpha_of(const Image& image) {
  Image alpha = Image::zeros(image.width, image.height, 3);
  int64_t count = image.width * image.height;
  for (int64_t pixel = 0; pixel < count; ++pixel)
    std::fill_n(alpha.pixels.data() + 3 * pixel, 3,
                image.pixels[static_cast<size_t>(4 * pixel + 3)]);
  return alpha;
}

}  // namespace

bool mask_is_in_alpha(const Image& mask) {
  return mask.channels == 4 && all_equal(mask, 0, 3) && !all_equal(mask, 3, 4);
}

Image painted_mask(const Image& mask) {
  return mask_is_in_alpha(mask) ? alpha_of(mask) : to_rgb(mask);
}

Image gaussian_blur(const Image& grey, double radius) {
  ensure(grey.channels == 1 && radius >= 0, "a blur of {} channels by {}", grey.channels, radius);
  Image blurred = grey;
  if (radius == 0) return blurred;
  const Box box(box_radius(radius));
  blur_lines(blurred, box, false);
  blur_lines(blurred, box, true);
  return blurred;
}

std::optional<Region> masked_region(const Image& grey, int64_t width, int64_t height,
                                    int64_t padding) {
  Span across{grey.width, 0}, down{grey.height, 0};
  for (int64_t y = 0; y < grey.height; ++y) {
    const uint8_t* row = grey.row(y);
    for (int64_t x = 0; x < grey.width; ++x) {
      if (row[x] == 0) continue;
      across = {std::min(across.first, x), std::max(across.last, x + 1)};
      down = {std::min(down.first, y), std::max(down.last, y + 1)};
    }
  }
  if (across.length() <= 0) return std::nullopt;
  auto padded = [&](Span span, int64_t size) {
    return Span{std::max<int64_t>(span.first - padding, 0), std::min(span.last + padding, size)};
  };
  across = padded(across, grey.width);
  down = padded(down, grey.height);
  const auto wide = static_cast<double>(across.length()), high = static_cast<double>(down.length());
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  if (wide / high > ratio)
    down = widened(down, static_cast<int64_t>(wide / ratio - high), grey.height);
  else
    across = widened(across, static_cast<int64_t>(high * ratio - wide), grey.width);
  return Region{across.first, down.first, across.length(), down.length()};
}

Image put_back(const Image& original, const Image& repainted, const Image& grey) {
  ensure(original.channels == 3 && repainted.channels == 3 && grey.channels == 1 &&
             original.width == grey.width && original.height == grey.height &&
             repainted.width == grey.width && repainted.height == grey.height,
         "images {}x{} and {}x{} under a mask {}x{}", original.width, original.height,
         repainted.width, repainted.height, grey.width, grey.height);
  Image result = repainted;
  for (size_t i = 0; i < grey.pixels.size(); ++i) {
    for (size_t c = 3 * i; c < 3 * i + 3; ++c)
      result.pixels[c] = composed(original.pixels[c], repainted.pixels[c], 255U - grey.pixels[i]);
  }
  return result;
}

}  // namespace omnirt::io
