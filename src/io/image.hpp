#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/image_format.hpp"

namespace omnirt::io {

// An 8-bit image in memory: rows from the top, channels interleaved, no padding.
struct Image {
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 0;         // 1 grey, 3 RGB, 4 RGBA (alpha not premultiplied)
  std::vector<uint8_t> pixels;  // height * width * channels

  // A black (and fully transparent) image. `ensure`s sizes that are positive and 1, 3 or 4
  // channels.
  static Image zeros(int64_t width, int64_t height, int64_t channels);
  size_t row_bytes() const { return static_cast<size_t>(width * channels); }
  const uint8_t* row(int64_t y) const { return pixels.data() + row_bytes() * y; }
  uint8_t* row(int64_t y) { return pixels.data() + row_bytes() * y; }
  bool operator==(const Image&) const = default;
};

// What a file from outside may ask for; checked against its header before memory is taken.
struct ImageLimits {
  int64_t max_side = 16384;
  int64_t max_pixels = int64_t{64} << 20;
  size_t max_file_bytes = size_t{256} << 20;
};

struct ReadOptions {
  ImageLimits limits;
  // Turns the image upright as its EXIF (or XMP) orientation says, as diffusers' load_image does.
  bool apply_exif_orientation = true;
};

// As `read_image` with the same options would return it.
struct ImageInfo {
  ImageFormat format = ImageFormat::png;
  int64_t width = 0;
  int64_t height = 0;
  int64_t channels = 0;
};

// Short texts kept inside an image file. A key is 1 to 79 of [A-Za-z0-9_.-] and starts with a
// letter; a value is UTF-8 without control characters but tab and newline; at most
// max_metadata_bytes together.
using ImageMetadata = std::map<std::string, std::string>;
inline constexpr size_t max_metadata_bytes = size_t{2} << 20;
// The key under which an image stores the request that made it (JSON).
inline constexpr const char* request_metadata_key = "omnirt";
// The key of generation parameters as AUTOMATIC1111 writes them: a text of this name in a PNG, the
// EXIF UserComment in a JPEG (up to a segment's 64 KiB; longer ones are left out) and a WebP.
inline constexpr const char* parameters_metadata_key = "parameters";

struct EncodeOptions {
  int quality = 95;           // jpeg, lossy webp: 1 to 100
  bool lossless = false;      // webp
  int compression_level = 6;  // png: 0 (fast) to 9 (small)
};

// Size and channels from the header; decodes no pixels. All of these take the format from the
// content, never from the extension. Errors are InvalidFile and name the file, what it looks like
// or the limit that it breaks.
ImageInfo probe_image(const std::filesystem::path& path, const ReadOptions& options = {});
// The same for bytes in memory; `name` names the file in errors.
ImageInfo probe_image_bytes(std::string_view bytes, const std::string& name,
                            const ReadOptions& options = {});

// Decodes as Pillow does: PNG of every colour type (16 bits keep the high byte; gamma and ICC
// profiles are ignored; grey with alpha and any transparency become RGBA), JPEG (CMYK becomes RGB
// by Adobe's convention), WebP. Of an animation the first frame is read. A file that is cut short
// or whose pixel data is damaged is refused, never filled with grey; hence no JPEG with arithmetic
// coding is read: libjpeg takes zeros for what is missing of its data and says nothing.
// One difference by intent: Pillow clips 16-bit grey to 255; here it is scaled like 16-bit colour.
Image read_image(const std::filesystem::path& path, const ReadOptions& options = {});
Image decode_image(std::string_view bytes, const std::string& name,
                   const ReadOptions& options = {});

// The texts that `encode_image` wrote, by key; of a PNG also those of other programs.
ImageMetadata read_image_metadata(const std::filesystem::path& path,
                                  const ImageLimits& limits = {});
ImageMetadata image_metadata(std::string_view bytes, const std::string& name);

// The bytes of an image file; equal input gives equal bytes. Texts go into iTXt chunks (png) or an
// XMP packet (jpeg, webp). PNG and lossless WebP keep every pixel. JPEG from quality 90 keeps
// colour at full resolution. Throws InvalidRequest: RGBA as JPEG, a side over the format's limit,
// an option or a text out of range.
std::string encode_image(const Image& image, ImageFormat format, const ImageMetadata& metadata = {},
                         const EncodeOptions& options = {});
// Writes through AtomicFile; the format is the one given, or the extension's.
void write_image(const std::filesystem::path& path, const Image& image, ImageFormat format,
                 const ImageMetadata& metadata = {}, const EncodeOptions& options = {});
void write_image(const std::filesystem::path& path, const Image& image,
                 const ImageMetadata& metadata = {}, const EncodeOptions& options = {});

// Drops alpha and repeats grey, as Pillow's convert("RGB").
Image to_rgb(const Image& image);
// ITU-R 601 luma in Pillow's fixed point, as convert("L"); alpha is dropped.
Image to_grey(const Image& image);
// Applies an EXIF orientation, 1 to 8; any other value changes nothing.
Image orient(const Image& image, int orientation);

// A contact sheet, RGB: rows of `columns` cells, each as large as the largest image, images
// centred, `gap` pixels between cells and around them. Throws InvalidRequest when there are no
// images, columns < 1, gap < 0, or the sheet would pass ImageLimits.
Image make_sheet(std::span<const Image> images, int64_t columns, int64_t gap,
                 std::array<uint8_t, 3> background = {0, 0, 0});

}  // namespace omnirt::io
