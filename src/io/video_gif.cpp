#include <fmt/format.h>
#include <gif_lib.h>

#include <memory>
#include <utility>

#include "base/error.hpp"
#include "io/video_codec.hpp"

namespace omnirt::io {
namespace {

constexpr int colours = 256, colour_bits = 8;
constexpr int64_t centiseconds = 100;

struct FreeMap {
  void operator()(ColorMapObject* map) const { GifFreeMapObject(map); }
};

// All frames in one palette, which does not flicker from frame to frame.
struct Indexed {
  std::unique_ptr<ColorMapObject, FreeMap> palette{GifMakeMapObject(colours, nullptr)};
  std::vector<GifByteType> pixels;  // frame after frame
};

[[noreturn]] void fail(const char* what) {
  throw RunFailed(fmt::format("giflib could not {}", what));
}

Indexed indexed(std::span<const Image> frames) {
  size_t of_one = static_cast<size_t>(frames.front().width * frames.front().height);
  std::vector<GifByteType> red, green, blue;
  for (auto* plane : {&red, &green, &blue}) plane->reserve(of_one * frames.size());
  for (const Image& frame : frames) {
    for (size_t i = 0; i < of_one; ++i) {
      red.push_back(frame.pixels[3 * i]);
      green.push_back(frame.pixels[3 * i + 1]);
      blue.push_back(frame.pixels[3 * i + 2]);
    }
  }
  Indexed made;
  if (!made.palette) fail("take memory for a palette");
  made.pixels.resize(red.size());
  int count = colours;
  auto width = static_cast<unsigned>(frames.front().width);
  auto height = static_cast<unsigned>(red.size() / width);
  if (GifQuantizeBuffer(width, height, &count, red.data(), green.data(), blue.data(),
                        made.pixels.data(), made.palette->Colors) == GIF_ERROR)
    fail("choose colours");
  return made;
}

class Gif {
 public:
  Gif() : file_(EGifOpen(&bytes_, &Gif::write, nullptr)) {
    if (!file_) fail("make a file");
    EGifSetGifVersion(file_, true);
  }
  Gif(const Gif&) = delete;
  ~Gif() {
    if (file_) EGifCloseFile(file_, nullptr);
  }
  void check(int result, const char* what) {
    if (result != GIF_OK) fail(what);
  }

  void begin(const Image& frame, ColorMapObject* palette, const ImageMetadata& metadata) {
    check(EGifPutScreenDesc(file_, static_cast<int>(frame.width), static_cast<int>(frame.height),
                            colour_bits, 0, palette),
          "write a header");
    // Again and again: the extension that Netscape's browser brought.
    check(EGifPutExtensionLeader(file_, APPLICATION_EXT_FUNC_CODE), "write a header");
    check(EGifPutExtensionBlock(file_, 11, "NETSCAPE2.0"), "write a header");
    const GifByteType forever[] = {1, 0, 0};
    check(EGifPutExtensionBlock(file_, sizeof(forever), forever), "write a header");
    check(EGifPutExtensionTrailer(file_), "write a header");
    for (const auto& [key, text] : metadata)
      check(EGifPutComment(file_, text.c_str()), "write a comment");
  }

  void add(const Image& frame, GifByteType* pixels, int64_t delay) {
    GraphicsControlBlock control{.DisposalMode = DISPOSE_DO_NOT,
                                 .UserInputFlag = false,
                                 .DelayTime = static_cast<int>(delay),
                                 .TransparentColor = NO_TRANSPARENT_COLOR};
    GifByteType packed[4];
    size_t bytes = EGifGCBToExtension(&control, packed);
    check(EGifPutExtension(file_, GRAPHICS_EXT_FUNC_CODE, static_cast<int>(bytes), packed),
          "write a frame");
    auto width = static_cast<int>(frame.width), height = static_cast<int>(frame.height);
    check(EGifPutImageDesc(file_, 0, 0, width, height, false, nullptr), "write a frame");
    for (int y = 0; y < height; ++y)
      check(EGifPutLine(file_, pixels + static_cast<ptrdiff_t>(y) * width, width), "write a frame");
  }

  std::string end() {
    check(EGifCloseFile(std::exchange(file_, nullptr), nullptr), "end the file");
    return std::move(bytes_);
  }

 private:
  static int write(GifFileType* file, const GifByteType* data, int count) {
    static_cast<std::string*>(file->UserData)
        ->append(reinterpret_cast<const char*>(data), static_cast<size_t>(count));
    return count;
  }
  std::string bytes_;
  GifFileType* file_;
};

}  // namespace

std::string encode_gif(std::span<const Image> frames, const ImageMetadata& metadata,
                       const VideoOptions& options) {
  Indexed video = indexed(frames);
  Gif gif;
  gif.begin(frames.front(), video.palette.get(), metadata);
  size_t of_one = video.pixels.size() / frames.size();
  for (size_t i = 0; i < frames.size(); ++i) {
    int64_t delay =
        shown_at(i + 1, options.fps, centiseconds) - shown_at(i, options.fps, centiseconds);
    gif.add(frames[i], video.pixels.data() + i * of_one, delay);
  }
  return gif.end();
}

}  // namespace omnirt::io
