#pragma once
#include <string>
#include <string_view>

#include "io/image.hpp"

namespace omnirt::io {

// What an image file holds in addition to its pixels, as far as this project reads it.
struct EmbeddedData {
  std::string exif;    // a TIFF structure
  std::string xmp;     // a packet, as XML
  ImageMetadata text;  // png: the texts by keyword; jpeg, webp: what our XMP holds
};

// Reads the chunks or segments of a file; stops, without an error, at the first that is damaged or
// passes max_metadata_bytes or so.
EmbeddedData read_embedded(std::string_view bytes, ImageFormat format);
EmbeddedData read_embedded_png(std::string_view bytes);

// 1 to 8; 1 when the file says nothing or nonsense. As Pillow, XMP counts when EXIF is silent.
int stored_orientation(const EmbeddedData& embedded);

}  // namespace omnirt::io
