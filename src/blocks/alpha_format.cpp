#include "blocks/alpha_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace omnirt::blocks {
namespace {

constexpr int64_t channels_with_alpha = 4;
constexpr uint8_t opaque = 255;

// Pillow's MULDIV255 of two products.
uint8_t mixed(uint8_t in, uint8_t out, uint8_t share) {
  const uint32_t sum = uint32_t{in} * share + uint32_t{out} * (opaque - share) + 128;
  return static_cast<uint8_t>(((sum >> 8) + sum) >> 8);
}

}  // namespace

io::Image with_alpha(const io::Image& image) {
  if (image.channels == channels_with_alpha) return image;
  const io::Image rgb = io::to_rgb(image);
  io::Image made = io::Image::zeros(rgb.width, rgb.height, channels_with_alpha);
  for (size_t i = 0, pixels = made.pixels.size() / channels_with_alpha; i < pixels; ++i) {
    std::copy_n(rgb.pixels.data() + 3 * i, 3, made.pixels.data() + channels_with_alpha * i);
    made.pixels[channels_with_alpha * i + 3] = opaque;
  }
  return made;
}

io::Image over_white(const io::Image& image) {
  if (image.channels != channels_with_alpha) return io::to_rgb(image);
  io::Image made = io::Image::zeros(image.width, image.height, 3);
  for (size_t i = 0, pixels = made.pixels.size() / 3; i < pixels; ++i) {
    const uint8_t* from = image.pixels.data() + channels_with_alpha * i;
    for (size_t c = 0; c < 3; ++c) made.pixels[3 * i + c] = mixed(from[c], opaque, from[3]);
  }
  return made;
}

void check_format_has_alpha(Checks& checks, const Config<std::string>& output,
                            const Config<io::ImageFormat>& output_format,
                            const std::string& whose) {
  const std::string extension =
      std::filesystem::path(checks.maybe(output).value_or("")).extension();
  const bool named = extension == ".jpg" || extension == ".jpeg";
  if (!named && checks.maybe(output_format) != io::ImageFormat::jpeg) return;
  checks.error(
      {named ? "config.output" : "config.output_format", named ? *checks.maybe(output) : "jpeg",
       fmt::format("{} have an alpha channel, and JPEG has none", whose), "use png or webp"});
}

}  // namespace omnirt::blocks
