#include <png.h>

#include <cstring>

#include "base/ensure.hpp"
#include "io/image_codec.hpp"

namespace omnirt::io {
namespace {

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* error = static_cast<CodecError*>(png_get_error_ptr(png));
  std::strncpy(error->message, message, sizeof error->message - 1);
  std::longjmp(error->jump, 1);
}

void on_warning(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep out, size_t count) {
  auto* rest = static_cast<std::string_view*>(png_get_io_ptr(png));
  if (count > rest->size()) png_error(png, "the file is cut short");
  std::memcpy(out, rest->data(), count);
  rest->remove_prefix(count);
}

// A member of its own, so that it is freed also when PngReader's constructor throws.
struct ReadHandles {
  png_structp png = nullptr;
  png_infop info = nullptr;
  ReadHandles() = default;
  ReadHandles(const ReadHandles&) = delete;
  ~ReadHandles() { png_destroy_read_struct(&png, &info, nullptr); }
};

class PngReader {
 public:
  explicit PngReader(const ImageSource& source) : source_(source), rest_(source.bytes) {
    if (!guarded(error_, [this] { open(); })) fail();
    if (handles_.png == nullptr) throw OutOfMemory("libpng could not start");
    if (!guarded(error_, [this] { read_header(); })) fail();
    check_image_size(source_, width_, height_);
    check_plausible();
  }

  ImageInfo info() const { return {ImageFormat::png, width_, height_, channels_}; }

  Image pixels() {
    Image image = Image::zeros(width_, height_, channels_);
    std::vector<png_bytep> rows(static_cast<size_t>(height_));
    for (int64_t y = 0; y < height_; ++y) rows[y] = image.row(y);
    if (!guarded(error_, [&] { read_rows(rows.data(), image.row_bytes()); })) fail();
    return image;
  }

 private:
  void open() {
    handles_.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &error_, on_error, on_warning);
    if (handles_.png == nullptr) return;
    handles_.info = png_create_info_struct(handles_.png);
    if (handles_.info == nullptr) png_error(handles_.png, "out of memory");
    png_set_read_fn(handles_.png, &rest_, read_bytes);
    // The limits are ours, so that the error can name them.
    png_set_user_limits(handles_.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    // Texts, profiles and gamma say nothing about the pixels as Pillow reads them.
    png_set_keep_unknown_chunks(handles_.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  }

  void read_header() {
    png_read_info(handles_.png, handles_.info);
    width_ = png_get_image_width(handles_.png, handles_.info);
    height_ = png_get_image_height(handles_.png, handles_.info);
    const int type = png_get_color_type(handles_.png, handles_.info);
    const bool alpha = (type & PNG_COLOR_MASK_ALPHA) != 0 ||
                       png_get_valid(handles_.png, handles_.info, PNG_INFO_tRNS) != 0;
    grey_with_alpha_ = alpha && (type & PNG_COLOR_MASK_COLOR) == 0;
    channels_ = alpha ? 4 : (type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
    stored_row_bytes_ = png_get_rowbytes(handles_.png, handles_.info);
  }

  // Deflate shrinks at most 1032 to 1 (zlib's technical notes), so a header that declares more than
  // the file could ever hold is refused before memory is taken for it.
  void check_plausible() const {
    if (stored_row_bytes_ * static_cast<uint64_t>(height_) / 1032 <= source_.bytes.size()) return;
    refuse_image(source_, std::to_string(width_) + "x" + std::to_string(height_),
                 "the file is too short to hold the image that its header declares",
                 "fetch or export the image again");
  }

  void read_rows(png_bytepp rows, size_t row_bytes) {
    png_set_expand(handles_.png);
    png_set_strip_16(handles_.png);
    if (grey_with_alpha_) png_set_gray_to_rgb(handles_.png);
    png_set_interlace_handling(handles_.png);
    png_read_update_info(handles_.png, handles_.info);
    if (png_get_rowbytes(handles_.png, handles_.info) != row_bytes)
      png_error(handles_.png, "unexpected row size");
    png_read_image(handles_.png, rows);
    png_read_end(handles_.png, nullptr);
  }

  [[noreturn]] void fail() const {
    refuse_image(source_, "PNG", std::string("cannot be decoded: ") + error_.message,
                 "fetch or export the image again");
  }

  const ImageSource& source_;
  std::string_view rest_;
  CodecError error_;
  ReadHandles handles_;
  int64_t width_ = 0;
  int64_t height_ = 0;
  int64_t channels_ = 0;
  uint64_t stored_row_bytes_ = 0;
  bool grey_with_alpha_ = false;
};

struct PngOutput {
  std::string bytes;
  bool full = false;  // memory ran out; an exception must not cross libpng
};

bool append(PngOutput& output, const char* data, size_t count) noexcept {
  try {
    output.bytes.append(data, count);
    return true;
  } catch (...) {
    return false;
  }
}

void write_bytes(png_structp png, png_bytep data, size_t count) {
  auto* output = static_cast<PngOutput*>(png_get_io_ptr(png));
  if (append(*output, reinterpret_cast<const char*>(data), count)) return;
  output->full = true;
  png_error(png, "out of memory");
}

void flush_bytes(png_structp) {}

class PngWriter {
 public:
  PngWriter() = default;
  PngWriter(const PngWriter&) = delete;
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }

  std::string write(const Image& image, std::span<png_text> texts, int level) {
    const bool written = guarded(error_, [&] { write_all(image, texts, level); });
    if (output_.full || png_ == nullptr || info_ == nullptr) {
      throw OutOfMemory("no memory to encode a PNG");
    }
    ensure(written, "libpng refused to encode: {}", static_cast<const char*>(error_.message));
    return std::move(output_.bytes);
  }

 private:
  void write_all(const Image& image, std::span<png_text> texts, int level) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &error_, on_error, on_warning);
    if (png_ == nullptr) return;
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) return;
    png_set_write_fn(png_, &output_, write_bytes, flush_bytes);
    png_set_compression_level(png_, level);
    const int type = image.channels == 1   ? PNG_COLOR_TYPE_GRAY
                     : image.channels == 3 ? PNG_COLOR_TYPE_RGB
                                           : PNG_COLOR_TYPE_RGB_ALPHA;
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(image.width),
                 static_cast<png_uint_32>(image.height), 8, type, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    if (!texts.empty()) png_set_text(png_, info_, texts.data(), static_cast<int>(texts.size()));
    png_write_info(png_, info_);
    for (int64_t y = 0; y < image.height; ++y) png_write_row(png_, image.row(y));
    png_write_end(png_, nullptr);
  }

  PngOutput output_;
  CodecError error_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

// iTXt is the PNG text that is UTF-8; libpng's structure wants non-const pointers and copies them.
std::vector<png_text> make_texts(const ImageMetadata& metadata) {
  static char empty[] = "";
  std::vector<png_text> texts;
  for (const auto& [key, value] : metadata) {
    png_text text{};
    text.compression = PNG_ITXT_COMPRESSION_NONE;
    text.key = const_cast<char*>(key.c_str());
    text.text = const_cast<char*>(value.c_str());
    text.itxt_length = value.size();
    text.lang = empty;
    text.lang_key = empty;
    texts.push_back(text);
  }
  return texts;
}

}  // namespace

ImageInfo probe_png(const ImageSource& source) {
  return PngReader(source).info();
}

Image decode_png(const ImageSource& source) {
  return PngReader(source).pixels();
}

std::string encode_png(const Image& image, const ImageMetadata& metadata,
                       const EncodeOptions& options) {
  std::vector<png_text> texts = make_texts(metadata);
  return PngWriter().write(image, texts, options.compression_level);
}

}  // namespace omnirt::io
