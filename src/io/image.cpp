#include "io/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/ensure.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"
#include "io/image_codec.hpp"
#include "io/image_embedded.hpp"
#include "io/image_text.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

ImageFormat format_of(const ImageSource& source) {
  if (source.bytes.size() > source.limits.max_file_bytes) {
    refuse_image(source, fmt::format("{} bytes", source.bytes.size()),
                 fmt::format("an image file may hold {} bytes", source.limits.max_file_bytes));
  }
  if (auto format = sniff_image_format(source.bytes)) return *format;
  const Sniffed content = describe_content(source.bytes);
  refuse_image(source, content.what, "is not an image that can be read", content.way_out);
}

ImageInfo probe_stored(const ImageSource& source, ImageFormat format) {
  switch (format) {
    case ImageFormat::png:
      return probe_png(source);
    case ImageFormat::jpeg:
      return probe_jpeg(source);
    case ImageFormat::webp:
      return probe_webp(source);
  }
  throw InternalError("an image format outside its enumeration");
}

Image decode_stored(const ImageSource& source, ImageFormat format) {
  switch (format) {
    case ImageFormat::png:
      return decode_png(source);
    case ImageFormat::jpeg:
      return decode_jpeg(source);
    case ImageFormat::webp:
      return decode_webp(source);
  }
  throw InternalError("an image format outside its enumeration");
}

void check_text(const std::string& key, const std::string& value) {
  const std::string field = "metadata." + key;
  if (!is_metadata_key(key)) {
    throw InvalidRequest(
        Finding{field, key, "a key is 1 to 79 of A-Z a-z 0-9 _ . - and starts with a letter", ""});
  }
  if (find_invalid_utf8(value) != std::string::npos)
    throw InvalidRequest(Finding{field, "", "the text is not UTF-8", ""});
  for (unsigned char c : value) {
    if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      throw InvalidRequest(Finding{field, fmt::format("a byte {:#04x}", c),
                                   "the text holds a control character", "write it as JSON"});
    }
  }
}

void check_metadata(const ImageMetadata& metadata) {
  size_t total = 0;
  for (const auto& [key, value] : metadata) {
    check_text(key, value);
    total += key.size() + value.size();
  }
  if (total > max_metadata_bytes) {
    throw InvalidRequest(
        Finding{"metadata", fmt::format("{} bytes", total),
                fmt::format("texts in an image file are at most {} bytes", max_metadata_bytes),
                "keep them in a file next to it"});
  }
}

void check_range(const char* field, int value, int low, int high) {
  if (value >= low && value <= high) return;
  throw InvalidRequest(
      Finding{field, std::to_string(value), fmt::format("must be {} to {}", low, high), ""});
}

void check_encoding(const Image& image, ImageFormat format, const EncodeOptions& options) {
  ensure(image.width > 0 && image.height > 0 &&
             (image.channels == 1 || image.channels == 3 || image.channels == 4) &&
             image.pixels.size() == image.row_bytes() * image.height,
         "an image of {}x{}x{} with {} bytes", image.width, image.height, image.channels,
         image.pixels.size());
  check_range("quality", options.quality, 1, 100);
  check_range("compression_level", options.compression_level, 0, 9);
  if (format == ImageFormat::jpeg && image.channels == 4) {
    throw InvalidRequest(Finding{"format", "jpeg", "JPEG has no transparency",
                                 "write PNG or WebP, or drop the alpha channel first"});
  }
  constexpr int64_t jpeg_max_side = 65500;  // JPEG_MAX_DIMENSION
  if (format == ImageFormat::jpeg && std::max(image.width, image.height) > jpeg_max_side) {
    throw InvalidRequest(Finding{"format", "jpeg",
                                 fmt::format("a JPEG side is at most {} pixels", jpeg_max_side),
                                 "write a PNG"});
  }
}

}  // namespace

void refuse_image(const ImageSource& source, const std::string& value, const std::string& message,
                  const std::string& way_out) {
  throw InvalidFile(Finding{source.name, value, message, way_out});
}

void check_image_size(const ImageSource& source, int64_t width, int64_t height) {
  const ImageLimits& limits = source.limits;
  if (width >= 1 && height >= 1 && width <= limits.max_side && height <= limits.max_side &&
      width <= limits.max_pixels / height) {
    return;
  }
  refuse_image(source, fmt::format("{}x{}", width, height),
               fmt::format("a side is 1 to {} pixels and an image at most {} pixels",
                           limits.max_side, limits.max_pixels),
               "scale the image down first");
}

Image Image::zeros(int64_t width, int64_t height, int64_t channels) {
  ensure(width > 0 && height > 0 && (channels == 1 || channels == 3 || channels == 4),
         "an image of {}x{}x{}", width, height, channels);
  return {width, height, channels,
          std::vector<uint8_t>(static_cast<size_t>(width) * height * channels)};
}

ImageInfo probe_image(const std::filesystem::path& path, const ReadOptions& options) {
  return probe_image_bytes(read_file(path, options.limits.max_file_bytes), path_text(path),
                           options);
}

ImageInfo probe_image_bytes(std::string_view bytes, const std::string& name,
                            const ReadOptions& options) {
  const ImageSource source{bytes, name, options.limits};
  const ImageFormat format = format_of(source);
  ImageInfo info = probe_stored(source, format);
  // Orientations 5 to 8 swap width and height.
  if (options.apply_exif_orientation && stored_orientation(read_embedded(bytes, format)) >= 5) {
    std::swap(info.width, info.height);
  }
  return info;
}

Image read_image(const std::filesystem::path& path, const ReadOptions& options) {
  return decode_image(read_file(path, options.limits.max_file_bytes), path_text(path), options);
}

Image decode_image(std::string_view bytes, const std::string& name, const ReadOptions& options) {
  const ImageSource source{bytes, name, options.limits};
  const ImageFormat format = format_of(source);
  Image image = decode_stored(source, format);
  if (!options.apply_exif_orientation) return image;
  const int orientation = stored_orientation(read_embedded(bytes, format));
  if (orientation == 1) return image;  // and not `?:`, which would copy it
  return orient(image, orientation);
}

ImageMetadata read_image_metadata(const std::filesystem::path& path, const ImageLimits& limits) {
  return image_metadata(read_file(path, limits.max_file_bytes), path_text(path));
}

ImageMetadata image_metadata(std::string_view bytes, const std::string& name) {
  ImageLimits limits;
  limits.max_file_bytes = bytes.size();
  return read_embedded(bytes, format_of({bytes, name, limits})).text;
}

std::string encode_image(const Image& image, ImageFormat format, const ImageMetadata& metadata,
                         const EncodeOptions& options) {
  check_encoding(image, format, options);
  check_metadata(metadata);
  switch (format) {
    case ImageFormat::png:
      return encode_png(image, metadata, options);
    case ImageFormat::jpeg:
      return encode_jpeg(image, metadata, options);
    case ImageFormat::webp:
      return encode_webp(image, metadata, options);
  }
  throw InternalError("an image format outside its enumeration");
}

void write_image(const std::filesystem::path& path, const Image& image, ImageFormat format,
                 const ImageMetadata& metadata, const EncodeOptions& options) {
  write_file(path, encode_image(image, format, metadata, options));
}

void write_image(const std::filesystem::path& path, const Image& image,
                 const ImageMetadata& metadata, const EncodeOptions& options) {
  write_image(path, image, image_format_from_path(path), metadata, options);
}

}  // namespace omnirt::io
