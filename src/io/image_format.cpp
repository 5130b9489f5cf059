#include "io/image_format.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

using namespace std::string_view_literals;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::optional<ImageFormat> find_format(std::string_view name) {
  const std::string known = lower(name);
  if (known == "png") return ImageFormat::png;
  if (known == "jpg" || known == "jpeg") return ImageFormat::jpeg;
  if (known == "webp") return ImageFormat::webp;
  return std::nullopt;
}

struct Signature {
  size_t offset;
  std::string_view bytes;
  const char* description;
};

// The container formats that people try first; the brands of ISO files come before their general
// case.
constexpr std::array signatures{
    Signature{0, "GIF8"sv, "a GIF image"},
    Signature{0, "II*\0"sv, "a TIFF image"},
    Signature{0, "MM\0*"sv, "a TIFF image"},
    Signature{0, "II+\0"sv, "a TIFF image"},
    Signature{0, "MM\0+"sv, "a TIFF image"},
    Signature{4, "ftypavi"sv, "an AVIF image"},
    Signature{4, "ftyphei"sv, "a HEIC image"},
    Signature{4, "ftyphev"sv, "a HEIC image"},
    Signature{4, "ftypmif1"sv, "a HEIF image"},
    Signature{4, "ftyp"sv, "an MP4 or MOV video"},
    Signature{0, "\0\0\0\x0cJXL "sv, "a JPEG XL image"},
    Signature{0, "\xff\x0a"sv, "a JPEG XL image"},
    Signature{0, "\0\0\0\x0cjP  "sv, "a JPEG 2000 image"},
    Signature{0, "\xff\x4f\xff\x51"sv, "a JPEG 2000 image"},
    Signature{0, "8BPS"sv, "a Photoshop file"},
    Signature{0, "\0\0\x01\0"sv, "an icon file"},
    Signature{0, "v/1\x01"sv, "an OpenEXR image"},
    Signature{0, "#?RADIANCE"sv, "a Radiance HDR image"},
    Signature{0, "DDS "sv, "a DDS texture"},
    Signature{0, "qoif"sv, "a QOI image"},
    Signature{8, "AVI "sv, "an AVI video"},
    Signature{0, "\x1a\x45\xdf\xa3"sv, "a WebM or Matroska video"},
    Signature{0, "%PDF"sv, "a PDF document"},
    Signature{0, "BM"sv, "a BMP image"},
};

bool is_svg(std::string_view head) {
  return find_invalid_utf8(head.substr(0, 64)) == std::string_view::npos &&
         lower(head).find("<svg") != std::string::npos;
}

}  // namespace

std::string image_extension(ImageFormat format) {
  switch (format) {
    case ImageFormat::png:
      return ".png";
    case ImageFormat::jpeg:
      return ".jpg";
    case ImageFormat::webp:
      return ".webp";
  }
  throw InternalError("an image format outside its enumeration");
}

std::string image_media_type(ImageFormat format) {
  return std::string("image/") + name_of(format);
}

ImageFormat image_format_from_path(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension.size() > 1) {
    if (auto format = find_format(std::string_view(extension).substr(1))) return *format;
  }
  throw InvalidRequest(Finding{path_text(path), extension.empty() ? "no extension" : extension,
                               "the extension does not name an image format that is written",
                               "use .png, .jpg or .webp"});
}

std::optional<ImageFormat> sniff_image_format(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return ImageFormat::png;
  if (bytes.starts_with("\xff\xd8\xff"sv)) return ImageFormat::jpeg;
  if (bytes.starts_with("RIFF"sv) && bytes.substr(0, 12).ends_with("WEBP"sv)) {
    return ImageFormat::webp;
  }
  return std::nullopt;
}

Sniffed describe_content(std::string_view bytes) {
  const std::string way_out = "use a PNG, JPEG or WebP image";
  if (bytes.empty()) return {"an empty file", way_out};
  const std::string_view head = bytes.substr(0, 1024);
  for (const Signature& signature : signatures) {
    if (head.size() > signature.offset &&
        head.substr(signature.offset).starts_with(signature.bytes)) {
      return {signature.description, way_out};
    }
  }
  if (is_svg(head)) return {"an SVG drawing", way_out};
  Sniffed sniffed = sniff(std::as_bytes(std::span(bytes)));
  if (sniffed.what.empty()) sniffed.what = "unknown binary data";
  if (sniffed.way_out.empty() || sniffed.way_out == pickle_way_out()) sniffed.way_out = way_out;
  return sniffed;
}

}  // namespace omnirt::io
