#pragma once
// What image.cpp asks of each format; nothing outside src/io includes this.
#include <csetjmp>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/image.hpp"

namespace omnirt::io {

struct ImageSource {
  std::string_view bytes;
  const std::string& name;
  const ImageLimits& limits;
};

// Throws InvalidFile about this source.
[[noreturn]] void refuse_image(const ImageSource& source, const std::string& value,
                               const std::string& message, const std::string& way_out = "");
// Throws unless an image of this size is within the limits.
void check_image_size(const ImageSource& source, int64_t width, int64_t height);

// Sizes as stored: orientation is image.cpp's.
ImageInfo probe_png(const ImageSource& source);
ImageInfo probe_jpeg(const ImageSource& source);
ImageInfo probe_webp(const ImageSource& source);
Image decode_png(const ImageSource& source);
Image decode_jpeg(const ImageSource& source);
Image decode_webp(const ImageSource& source);
std::string encode_png(const Image& image, const ImageMetadata& metadata,
                       const EncodeOptions& options);
std::string encode_jpeg(const Image& image, const ImageMetadata& metadata,
                        const EncodeOptions& options);
std::string encode_webp(const Image& image, const ImageMetadata& metadata,
                        const EncodeOptions& options);

// A WebP file, still or animated, with these texts next to its pixels (XMP, and EXIF for
// parameters).
std::string with_metadata(std::string_view webp, const ImageMetadata& metadata);

// libpng and libjpeg report an error by calling a function that must not return. It jumps back into
// `guarded`; so every function that calls them holds only trivially destructible objects, and what
// owns memory (the library's structure, the pixels) lives in the caller.
struct CodecError {
  std::jmp_buf jump;
  char message[200] = {};
};

// Runs `body`; false when the library reported an error, which is then in `error.message`.
template <class Body>
[[gnu::noinline]] bool guarded(CodecError& error, const Body& body) {
  if (setjmp(error.jump) != 0) return false;
  body();
  return true;
}

}  // namespace omnirt::io
