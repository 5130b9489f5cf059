#pragma once
#include <string>
#include <string_view>

namespace omnirt::io {

// EXIF (CIPA DC-008, a TIFF structure) whose UserComment is `text` (UTF-8): where AUTOMATIC1111 and
// programs that read its images look for generation parameters in a JPEG or WebP.
std::string exif_with_comment(std::string_view text);

// The UserComment as UTF-8; "" where there is none, or none that is text. Never throws on malformed
// bytes.
std::string exif_comment(std::string_view exif);

// 1 to 8 as the tag Orientation says; 0 where it is silent.
int exif_orientation(std::string_view exif);

}  // namespace omnirt::io
