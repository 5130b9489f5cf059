#include "io/image_embedded.hpp"

#include <cstdint>
#include <vector>

#include "io/image_exif.hpp"
#include "io/image_xmp.hpp"

namespace omnirt::io {
namespace {

using namespace std::string_view_literals;

// An orientation and a comment need less; programs that write more than this write thumbnails.
constexpr size_t max_exif_bytes = size_t{1} << 20;

uint32_t byte_at(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

void add_parameters(EmbeddedData& found) {
  std::string comment = exif_comment(found.exif);
  if (!comment.empty()) found.text.emplace(parameters_metadata_key, std::move(comment));
}

// JPEG (ITU T.81, B.1.1): segments FF, marker, 16-bit length, up to the first scan.
EmbeddedData read_embedded_jpeg(std::string_view bytes) {
  EmbeddedData found;
  std::vector<std::string_view> extensions;
  size_t at = 2;
  while (at + 4 <= bytes.size() && byte_at(bytes, at) == 0xff) {
    const uint32_t marker = byte_at(bytes, at + 1);
    if (marker == 0xff) {  // a fill byte
      ++at;
      continue;
    }
    const size_t length = byte_at(bytes, at + 2) << 8 | byte_at(bytes, at + 3);
    if (marker == 0xda || length < 2 || length > bytes.size() - at - 2) break;
    const std::string_view body = bytes.substr(at + 4, length - 2);
    at += 2 + length;
    if (marker != 0xe1) continue;
    if (body.starts_with("Exif\0\0"sv) && found.exif.size() < max_exif_bytes)
      found.exif += body.substr(6);
    if (body.starts_with(xmp_segment_name)) found.xmp = body.substr(xmp_segment_name.size());
    if (body.starts_with(xmp_extension_name)) extensions.push_back(body);
  }
  found.text = parse_xmp(found.xmp);
  add_parameters(found);
  if (!extensions.empty()) found.text.merge(parse_xmp(join_extended_xmp(extensions)));
  return found;
}

// WebP: RIFF chunks of four letters and a 32-bit length, padded to even.
EmbeddedData read_embedded_webp(std::string_view bytes) {
  EmbeddedData found;
  size_t at = 12;
  while (at + 8 <= bytes.size()) {
    const size_t length = byte_at(bytes, at + 4) | byte_at(bytes, at + 5) << 8 |
                          byte_at(bytes, at + 6) << 16 | byte_at(bytes, at + 7) << 24;
    if (length > bytes.size() - at - 8) break;
    const std::string_view name = bytes.substr(at, 4);
    const std::string_view body = bytes.substr(at + 8, length);
    at += 8 + length + length % 2;
    if (name == "EXIF")
      found.exif = body.substr(body.starts_with("Exif\0\0"sv) ? 6 : 0, max_exif_bytes);
    if (name == "XMP " && body.size() <= max_xmp_packet_bytes) found.xmp = body;
  }
  found.text = parse_xmp(found.xmp);
  add_parameters(found);
  return found;
}

int xmp_orientation(std::string_view xmp) {
  constexpr std::string_view name = "tiff:Orientation";
  for (size_t at = xmp.find(name); at != std::string_view::npos; at = xmp.find(name, at + 1)) {
    std::string_view rest = xmp.substr(at + name.size());
    rest.remove_prefix(rest.starts_with("=\"") ? 2 : rest.starts_with(">") ? 1 : rest.size());
    if (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') return rest.front() - '0';
  }
  return 0;
}

}  // namespace

EmbeddedData read_embedded(std::string_view bytes, ImageFormat format) {
  if (format == ImageFormat::png) return read_embedded_png(bytes);
  return format == ImageFormat::jpeg ? read_embedded_jpeg(bytes) : read_embedded_webp(bytes);
}

int stored_orientation(const EmbeddedData& embedded) {
  int orientation = exif_orientation(embedded.exif);
  if (orientation == 0) orientation = xmp_orientation(embedded.xmp);
  return orientation >= 1 && orientation <= 8 ? orientation : 1;
}

}  // namespace omnirt::io
