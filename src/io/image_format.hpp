#pragma once
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/choice.hpp"
#include "io/sniff.hpp"

namespace omnirt::io {

enum class ImageFormat { png, jpeg, webp };

// ".png", ".jpg", ".webp".
std::string image_extension(ImageFormat format);
// "image/png", ...
std::string image_media_type(ImageFormat format);

// From the extension of a path that will be written. Throws InvalidRequest naming the path.
ImageFormat image_format_from_path(const std::filesystem::path& path);

// What the first bytes say; nullopt when it is none of the three.
std::optional<ImageFormat> sniff_image_format(std::string_view bytes);
// What bytes that are no readable image look like and what to do, for an error: "a GIF image", ...
Sniffed describe_content(std::string_view bytes);

}  // namespace omnirt::io

template <>
struct omnirt::ChoiceNames<omnirt::io::ImageFormat> {
  static constexpr std::array names{"png", "jpeg", "webp"};
};
