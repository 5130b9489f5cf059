#include <fmt/format.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <memory>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "io/image_codec.hpp"
#include "io/video_codec.hpp"

namespace omnirt::io {
namespace {

constexpr int64_t milliseconds = 1000;

struct DeleteEncoder {
  void operator()(WebPAnimEncoder* encoder) const { WebPAnimEncoderDelete(encoder); }
};

struct WebpFrame {
  WebPPicture picture{};
  WebpFrame() {
    ensure(WebPPictureInit(&picture) != 0, "libwebp's version differs from its headers");
    picture.use_argb = 1;
  }
  WebpFrame(const WebpFrame&) = delete;
  ~WebpFrame() { WebPPictureFree(&picture); }
};

struct Assembled {
  WebPData data{};
  Assembled() { WebPDataInit(&data); }
  Assembled(const Assembled&) = delete;
  ~Assembled() { WebPDataClear(&data); }
};

WebPConfig config_of(const VideoOptions& options) {
  WebPConfig config;
  ensure(WebPConfigInit(&config) != 0, "libwebp's version differs from its headers");
  config.quality = static_cast<float>(options.webp_quality);
  ensure(WebPValidateConfig(&config) != 0, "an invalid WebP configuration");
  return config;
}

}  // namespace

std::string encode_animated_webp(std::span<const Image> frames, const ImageMetadata& metadata,
                                 const VideoOptions& options) {
  auto width = static_cast<int>(frames.front().width);
  auto height = static_cast<int>(frames.front().height);
  WebPAnimEncoderOptions animation;
  ensure(WebPAnimEncoderOptionsInit(&animation) != 0, "libwebp's version differs from its headers");
  std::unique_ptr<WebPAnimEncoder, DeleteEncoder> encoder(
      WebPAnimEncoderNew(width, height, &animation));
  if (!encoder) throw OutOfMemory("no memory to encode a WebP");
  WebPConfig config = config_of(options);
  auto fail = [&] {
    throw RunFailed(fmt::format("libwebp could not encode the video: {}",
                                WebPAnimEncoderGetError(encoder.get())));
  };
  for (size_t i = 0; i < frames.size(); ++i) {
    WebpFrame frame;
    frame.picture.width = width;
    frame.picture.height = height;
    if (!WebPPictureImportRGB(&frame.picture, frames[i].pixels.data(),
                              static_cast<int>(frames[i].row_bytes())))
      throw OutOfMemory("no memory to encode a WebP");
    auto at = static_cast<int>(shown_at(i, options.fps, milliseconds));
    if (!WebPAnimEncoderAdd(encoder.get(), &frame.picture, at, &config)) fail();
  }
  auto end = static_cast<int>(shown_at(frames.size(), options.fps, milliseconds));
  Assembled made;
  if (!WebPAnimEncoderAdd(encoder.get(), nullptr, end, nullptr) ||
      !WebPAnimEncoderAssemble(encoder.get(), &made.data))
    fail();
  std::string bytes(reinterpret_cast<const char*>(made.data.bytes), made.data.size);
  return with_metadata(bytes, metadata);
}

}  // namespace omnirt::io
