#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
// jpeglib.h needs <cstdio> first, and jerror.h needs jpeglib.h.
#include <jpeglib.h>
// Kept apart, or the formatter would sort them.
#include <jerror.h>

#include "base/ensure.hpp"
#include "io/image_arithmetic.hpp"
#include "io/image_codec.hpp"
#include "io/image_exif.hpp"
#include "io/image_xmp.hpp"

namespace omnirt::io {
namespace {

// An image of more scans takes time out of proportion to its size; encoders write about ten.
constexpr int max_scans = 200;
// Of a JPEG in several scans all coefficients are held until the last one is read. As much as the
// largest image takes with its colour at half the resolution both ways.
constexpr uint64_t max_coefficient_bytes = uint64_t{192} << 20;

struct JpegErrors {
  jpeg_error_mgr manager;  // first: libjpeg returns a pointer to it
  CodecError error;
};

[[noreturn]] void stop(JpegErrors& errors, const char* message) {
  std::strncpy(errors.error.message, message, sizeof errors.error.message - 1);
  std::longjmp(errors.error.jump, 1);
}

[[noreturn]] void on_error(j_common_ptr codec) {
  char message[JMSG_LENGTH_MAX];
  codec->err->format_message(codec, message);
  stop(*reinterpret_cast<JpegErrors*>(codec->err), message);
}

// libjpeg continues after these with grey or repeated blocks in place of what is missing.
bool loses_pixels(int code) {
  switch (code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_ARITH_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_BOGUS_PROGRESSION:
      return true;
    default:
      return false;
  }
}

void on_message(j_common_ptr codec, int level) {
  if (level < 0 && loses_pixels(codec->err->msg_code)) on_error(codec);
}

void on_progress(j_common_ptr codec) {
  const auto* reader = reinterpret_cast<j_decompress_ptr>(codec);
  if (reader->input_scan_number > max_scans) {
    stop(*reinterpret_cast<JpegErrors*>(codec->err), "it has too many scans");
  }
}

void start_errors(JpegErrors& errors) {
  jpeg_std_error(&errors.manager);
  errors.manager.error_exit = on_error;
  errors.manager.emit_message = on_message;
}

// A member of its own, so that it is freed also when JpegReader's constructor throws. Destroying
// a structure that is all zeros does nothing.
struct Decompressor {
  jpeg_decompress_struct codec{};
  Decompressor() = default;
  Decompressor(const Decompressor&) = delete;
  ~Decompressor() { jpeg_destroy_decompress(&codec); }
};

// Adobe writes CMYK inverted (255 is no ink), and so does Pillow take every CMYK JPEG; then the
// plain formula of its convert("RGB") (Convert.c, cmyk2rgb) on the inks that are left.
void cmyk_row_to_rgb(const uint8_t* cmyk, int64_t width, uint8_t* rgb) {
  for (int64_t x = 0; x < width; ++x) {
    const unsigned white = cmyk[4 * x + 3];
    for (int c = 0; c < 3; ++c) {
      const int ink = multiply_255(255U - cmyk[4 * x + c], white);
      rgb[3 * x + c] = static_cast<uint8_t>(std::max(0, static_cast<int>(white) - ink));
    }
  }
}

class JpegReader {
 public:
  explicit JpegReader(const ImageSource& source) : source_(source) {
    start_errors(errors_);
    if (!guarded(errors_.error, [this] { read_header(); })) fail();
    const jpeg_decompress_struct& codec = handle_.codec;
    check_image_size(source_, codec.image_width, codec.image_height);
    const int stored = codec.num_components;
    if (stored != 1 && stored != 3 && stored != 4) {
      refuse_image(source_, std::to_string(stored) + " colour components",
                   "a JPEG is read with 1 (grey), 3 (colour) or 4 (CMYK)", "convert it to PNG");
    }
    check_plausible();
    check_coefficients();
  }

  ImageInfo info() const {
    return {ImageFormat::jpeg, handle_.codec.image_width, handle_.codec.image_height,
            handle_.codec.num_components == 1 ? 1 : 3};
  }

  Image pixels() {
    const ImageInfo shape = info();
    Image image = Image::zeros(shape.width, shape.height, shape.channels);
    const bool cmyk = handle_.codec.num_components == 4;
    std::vector<uint8_t> row(cmyk ? static_cast<size_t>(shape.width) * 4 : 0);
    if (!guarded(errors_.error, [&] { read_rows(image, cmyk ? row.data() : nullptr); })) fail();
    return image;
  }

 private:
  void read_header() {
    handle_.codec.err = &errors_.manager;
    jpeg_create_decompress(&handle_.codec);
    progress_.progress_monitor = on_progress;
    handle_.codec.progress = &progress_;
    jpeg_mem_src(&handle_.codec, reinterpret_cast<const unsigned char*>(source_.bytes.data()),
                 source_.bytes.size());
    jpeg_read_header(&handle_.codec, TRUE);
  }

  // Huffman coding spends at least one bit on each 8x8 block, so a header that declares more than
  // the file could ever hold is refused before memory is taken for it.
  void check_plausible() const {
    if (handle_.codec.arith_code) {
      refuse_image(source_, "JPEG with arithmetic coding",
                   "is not read: missing data would show as grey", "convert it to PNG");
    }
    const jpeg_component_info& first = handle_.codec.comp_info[0];
    const uint64_t blocks = uint64_t{first.width_in_blocks} * first.height_in_blocks;
    if (blocks / 8 <= source_.bytes.size()) return;
    refuse_image(source_, size_text(),
                 "the file is too short to hold the image that its header declares",
                 "fetch or export the image again");
  }

  void check_coefficients() {
    if (jpeg_has_multiple_scans(&handle_.codec) == 0) return;
    uint64_t bytes = 0;
    for (int i = 0; i < handle_.codec.num_components; ++i) {
      const jpeg_component_info& each = handle_.codec.comp_info[i];
      bytes += uint64_t{each.width_in_blocks} * each.height_in_blocks * DCTSIZE2 * sizeof(JCOEF);
    }
    if (bytes <= max_coefficient_bytes) return;
    refuse_image(
        source_, size_text(),
        fmt::format("decoding a progressive JPEG of this size holds {} MB; the limit is {} MB",
                    bytes >> 20, max_coefficient_bytes >> 20),
        "export it as a baseline JPEG or a PNG");
  }

  std::string size_text() const {
    return fmt::format("{}x{}", handle_.codec.image_width, handle_.codec.image_height);
  }

  void read_rows(Image& image, uint8_t* cmyk_row) {
    jpeg_decompress_struct& codec = handle_.codec;
    codec.out_color_space = cmyk_row != nullptr   ? JCS_CMYK
                            : image.channels == 1 ? JCS_GRAYSCALE
                                                  : JCS_RGB;
    jpeg_start_decompress(&codec);
    while (codec.output_scanline < codec.output_height) {
      const int64_t y = codec.output_scanline;
      JSAMPROW row = cmyk_row != nullptr ? cmyk_row : image.row(y);
      jpeg_read_scanlines(&codec, &row, 1);
      if (cmyk_row != nullptr) cmyk_row_to_rgb(cmyk_row, image.width, image.row(y));
    }
    jpeg_finish_decompress(&codec);
  }

  [[noreturn]] void fail() const {
    refuse_image(source_, "JPEG", std::string("cannot be decoded: ") + errors_.error.message,
                 "fetch or export the image again");
  }

  const ImageSource& source_;
  JpegErrors errors_;
  jpeg_progress_mgr progress_{};
  Decompressor handle_;
};

// libjpeg's own memory destination loses its buffer when an error jumps past it.
struct JpegOutput {
  jpeg_destination_mgr manager{};  // first: libjpeg returns a pointer to it
  std::string bytes;
  bool full = false;
  JOCTET buffer[16384];
};

bool append(JpegOutput& output, size_t count) noexcept {
  try {
    output.bytes.append(reinterpret_cast<const char*>(output.buffer), count);
    return true;
  } catch (...) {
    return false;
  }
}

void reset_buffer(JpegOutput& output) {
  output.manager.next_output_byte = output.buffer;
  output.manager.free_in_buffer = sizeof output.buffer;
}

void drain(j_compress_ptr codec, size_t count) {
  auto& output = *reinterpret_cast<JpegOutput*>(codec->dest);
  if (!append(output, count)) {
    output.full = true;
    stop(*reinterpret_cast<JpegErrors*>(codec->err), "out of memory");
  }
  reset_buffer(output);
}

void init_output(j_compress_ptr codec) {
  reset_buffer(*reinterpret_cast<JpegOutput*>(codec->dest));
}

boolean empty_output(j_compress_ptr codec) {
  drain(codec, sizeof(JpegOutput::buffer));
  return TRUE;
}

void finish_output(j_compress_ptr codec) {
  drain(codec, sizeof(JpegOutput::buffer) - codec->dest->free_in_buffer);
}

class JpegWriter {
 public:
  JpegWriter() {
    start_errors(errors_);
    output_.manager.init_destination = init_output;
    output_.manager.empty_output_buffer = empty_output;
    output_.manager.term_destination = finish_output;
  }
  JpegWriter(const JpegWriter&) = delete;
  ~JpegWriter() { jpeg_destroy_compress(&codec_); }

  std::string write(const Image& image, std::span<const std::string> app1, int quality) {
    const bool written = guarded(errors_.error, [&] { write_all(image, app1, quality); });
    if (output_.full) throw OutOfMemory("no memory to encode a JPEG");
    ensure(written, "libjpeg refused to encode: {}",
           static_cast<const char*>(errors_.error.message));
    return std::move(output_.bytes);
  }

 private:
  void write_all(const Image& image, std::span<const std::string> app1, int quality) {
    codec_.err = &errors_.manager;
    jpeg_create_compress(&codec_);
    codec_.dest = &output_.manager;
    codec_.image_width = static_cast<JDIMENSION>(image.width);
    codec_.image_height = static_cast<JDIMENSION>(image.height);
    codec_.input_components = static_cast<int>(image.channels);
    codec_.in_color_space = image.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(&codec_);
    jpeg_set_quality(&codec_, quality, TRUE);
    codec_.optimize_coding = TRUE;
    if (quality >= 90 && image.channels == 3) {
      // The default halves colour in both directions, which at these qualities is the larger loss.
      codec_.comp_info[0].h_samp_factor = 1;
      codec_.comp_info[0].v_samp_factor = 1;
    }
    jpeg_start_compress(&codec_, TRUE);
    for (const std::string& segment : app1) {
      jpeg_write_marker(&codec_, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(segment.data()),
                        static_cast<unsigned>(segment.size()));
    }
    while (codec_.next_scanline < codec_.image_height) {
      auto* row = const_cast<JSAMPROW>(image.row(codec_.next_scanline));
      jpeg_write_scanlines(&codec_, &row, 1);
    }
    jpeg_finish_compress(&codec_);
  }

  JpegErrors errors_;
  JpegOutput output_;
  jpeg_compress_struct codec_{};
};

}  // namespace

ImageInfo probe_jpeg(const ImageSource& source) {
  return JpegReader(source).info();
}

Image decode_jpeg(const ImageSource& source) {
  return JpegReader(source).pixels();
}

std::string encode_jpeg(const Image& image, const ImageMetadata& metadata,
                        const EncodeOptions& options) {
  std::vector<std::string> segments;
  if (!metadata.empty()) segments = xmp_segments(metadata);
  auto parameters = metadata.find(parameters_metadata_key);
  if (parameters != metadata.end()) {
    std::string exif = std::string("Exif\0\0", 6) + exif_with_comment(parameters->second);
    if (exif.size() <= max_app_segment_bytes) segments.insert(segments.begin(), std::move(exif));
  }
  return JpegWriter().write(image, segments, options.quality);
}

}  // namespace omnirt::io
