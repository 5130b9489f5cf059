#include "io/image_embedded.hpp"

#include <cstdint>
#include <optional>
#include <vector>

#include "io/image_xmp.hpp"

namespace omnirt::io {
namespace {

using namespace std::string_view_literals;

// An orientation stands within the first few entries; who writes more than this writes thumbnails.
constexpr size_t max_exif_bytes = size_t{1} << 20;

uint32_t byte_at(std::string_view bytes, size_t at) {
  return static_cast<unsigned char>(bytes[at]);
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
  return found;
}

// Reads numbers of a TIFF structure in its own byte order; nullopt outside its bytes.
class TiffView {
 public:
  explicit TiffView(std::string_view bytes) : bytes_(bytes), little_(bytes.starts_with("II")) {}

  std::optional<uint32_t> number(size_t at, size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
    uint32_t value = 0;
    for (size_t k = 0; k < size; ++k) {
      value = value << 8 | byte_at(bytes_, at + (little_ ? size - 1 - k : k));
    }
    return value;
  }

 private:
  std::string_view bytes_;
  bool little_;
};

// TIFF 6.0, section 2: header, then the first directory of 12-byte entries; 0x0112 is Orientation.
int exif_orientation(std::string_view exif) {
  if (!exif.starts_with("II*\0"sv) && !exif.starts_with("MM\0*"sv)) return 0;
  const TiffView tiff(exif);
  const size_t directory = tiff.number(4, 4).value_or(0);
  const size_t entries = tiff.number(directory, 2).value_or(0);
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = directory + 2 + 12 * i;
    const auto tag = tiff.number(at, 2);
    if (!tag) return 0;
    if (*tag != 0x0112) continue;
    const uint32_t type = tiff.number(at + 2, 2).value_or(0);
    const size_t size = type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : 0;
    return size == 0 ? 0 : static_cast<int>(tiff.number(at + 8, size).value_or(0) & 0xffff);
  }
  return 0;
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
