#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "io/sniff.hpp"

namespace omnirt::io {

enum class ImageFormat { png, jpeg, webp };

// "png", "jpeg", "webp".
std::string image_format_name(ImageFormat format);
// ".png", ".jpg", ".webp".
std::string image_extension(ImageFormat format);
// "image/png", ...
std::string image_media_type(ImageFormat format);

// From "png", "jpg", "jpeg" or "webp", in any case. Throws InvalidRequest naming `field`.
ImageFormat image_format_from_name(std::string_view name, const std::string& field = "format");
// From the extension of a path that will be written. Throws InvalidRequest naming the path.
ImageFormat image_format_from_path(const std::filesystem::path& path);

// What the first bytes say; nullopt when it is none of the three.
std::optional<ImageFormat> sniff_image_format(std::string_view bytes);
// What bytes that are no readable image look like and what to do, for an error: "a GIF image", ...
Sniffed describe_content(std::string_view bytes);

}  // namespace omnirt::io
