#include "io/preprocess.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "io/image_edges.hpp"
#include "io/image_resize.hpp"

namespace omnirt::io {
namespace {

constexpr int strongest_gradient = 2040;  // of 8 bits by Sobel's 3x3: |dx| + |dy|

Image each_value(const Image& image, const auto& change) {
  Image made = image;
  for (uint8_t& value : made.pixels) value = change(value);
  return made;
}

// A gray image of one value for each pixel of an RGB one.
Image each_pixel(const Image& rgb, const auto& value) {
  Image made = Image::zeros(rgb.width, rgb.height, 1);
  for (size_t i = 0; i < made.pixels.size(); ++i) made.pixels[i] = value(&rgb.pixels[3 * i]);
  return made;
}

// Lightness of CIE Lab in 8 bits, in OpenCV's fixed point: sRGB to linear light, luminance by Rec.
// 709, its cube root by a table.
class Lightness {
 public:
  Lightness() {
    for (size_t i = 0; i < linear_.size(); ++i) {
      const double x = static_cast<double>(i) / 255;
      const double light = x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
      linear_[i] = static_cast<int>(std::lrint(255 * (1 << light_bits) * light));
    }
    for (size_t i = 0; i < roots_.size(); ++i) {
      const double x = static_cast<double>(i) / (255.0 * (1 << light_bits));
      const double root = x < 216.0 / 24389 ? x * (841.0 / 108) + 16.0 / 116 : std::cbrt(x);
      roots_[i] = static_cast<int>(std::lrint((1 << root_bits) * root));
    }
  }

  uint8_t of(const uint8_t* rgb) const {
    constexpr int red = 871, green = 2929, blue = 296;  // of 4096
    const int light = descaled(
        linear_[rgb[0]] * red + linear_[rgb[1]] * green + linear_[rgb[2]] * blue, weight_bits);
    constexpr int scale = (116 * 255 + 50) / 100;
    constexpr int shift = -((16 * 255 * (1 << root_bits) + 50) / 100);
    const int value = descaled(scale * roots_[static_cast<size_t>(light)] + shift, root_bits);
    return static_cast<uint8_t>(std::clamp(value, 0, 255));
  }

 private:
  static constexpr int light_bits = 3, weight_bits = 12, root_bits = weight_bits + light_bits;
  static int descaled(int value, int bits) { return (value + (1 << (bits - 1))) >> bits; }

  std::array<int, 256> linear_{};
  std::array<int, 256 * (1 << light_bits)> roots_{};
};

Image tile(const Image& image, double rate) {
  if (rate == 1.0) return image;
  auto smaller = [&](int64_t side) {
    return std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(side) / rate));
  };
  Image small = resize_area(image, smaller(image.width), smaller(image.height));
  return resize_lanczos(small, image.width, image.height);
}

class Reader {
 public:
  Reader(const Json& given, std::string field) : given_(given), field_(std::move(field)) {}

  Preprocess read() {
    Preprocess how;
    how.kind = kind();
    if (!given_.is_object()) return how;
    if (how.kind == PreprocessKind::canny) {
      take("low", how.low, 0, strongest_gradient);
      take("high", how.high, 0, strongest_gradient);
    }
    if (how.kind == PreprocessKind::tile) take("rate", how.rate, 1, 8);
    if (how.kind == PreprocessKind::threshold) take("level", how.level, 0, 255);
    for (const auto& [name, value] : given_.items()) {
      if (name == "type" || taken_.contains(name)) continue;
      refuse(
          "." + name, value, fmt::format("{} has no such option", name_of(how.kind)),
          taken_.empty() ? "remove it" : fmt::format("its options: {}", fmt::join(taken_, ", ")));
    }
    return how;
  }

 private:
  [[noreturn]] void refuse(const std::string& below, const Json& value, const std::string& why,
                           const std::string& way_out) const {
    throw InvalidRequest({field_ + below, shown(value), why, way_out});
  }

  PreprocessKind kind() const {
    const Json name = given_.is_object() ? given_.value("type", Json()) : given_;
    auto found = choice_of<PreprocessKind>(name.is_string() ? name.get<std::string>() : "");
    if (found) return *found;
    refuse(given_.is_object() ? ".type" : "", name, "no kind of preprocessing",
           fmt::format("give one of: {}", fmt::join(ChoiceNames<PreprocessKind>::names, ", ")));
  }

  template <class T>
  void take(const char* name, T& into, double lowest, double highest) {
    taken_.insert(name);
    auto value = given_.find(name);
    if (value == given_.end()) return;
    double number = value->is_number() ? value->get<double>() : lowest - 1;
    bool whole = std::is_floating_point_v<T> || number == std::floor(number);
    if (!whole || !(number >= lowest && number <= highest))
      refuse(std::string(".") + name, *value, "out of range",
             fmt::format("give {} to {}", lowest, highest));
    into = static_cast<T>(number);
  }

  const Json& given_;
  std::string field_;
  std::set<std::string> taken_;
};

}  // namespace

Preprocess read_preprocess(const Json& given, const std::string& field) {
  return Reader(given, field).read();
}

Image preprocessed(const Image& image, const Preprocess& how) {
  const Image rgb = to_rgb(image);
  switch (how.kind) {
    case PreprocessKind::none:
      return rgb;
    case PreprocessKind::canny:
      return canny_edges(rgb, how.low, how.high);
    case PreprocessKind::tile:
      return tile(rgb, how.rate);
    case PreprocessKind::grayscale:
      return to_grey(rgb);
    case PreprocessKind::luminance:
      return each_pixel(rgb, [of = Lightness()](const uint8_t* p) { return of.of(p); });
    case PreprocessKind::intensity:
      return each_pixel(rgb, [](const uint8_t* p) { return std::max({p[0], p[1], p[2]}); });
    case PreprocessKind::invert:
      return each_value(rgb, [](uint8_t value) { return static_cast<uint8_t>(255 - value); });
    case PreprocessKind::threshold:
      return each_pixel(rgb, [&](const uint8_t* p) {
        return std::min({p[0], p[1], p[2]}) > how.level ? uint8_t{255} : uint8_t{0};
      });
  }
  throw InternalError("a kind outside its enumeration");
}

}  // namespace omnirt::io
