#include <webp/decode.h>
#include <webp/demux.h>
#include <webp/encode.h>
#include <webp/mux.h>

#include <cstring>
#include <memory>

#include "base/ensure.hpp"
#include "io/image_codec.hpp"
#include "io/image_exif.hpp"
#include "io/image_xmp.hpp"

namespace omnirt::io {
namespace {

const uint8_t* data_of(std::string_view bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

[[noreturn]] void refuse_webp(const ImageSource& source, const std::string& reason) {
  refuse_image(source, "WebP", "cannot be decoded: " + reason, "fetch or export the image again");
}

const char* reason_of(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED:
      return "the file is cut short";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "it uses a feature that libwebp does not read";
    case VP8_STATUS_OUT_OF_MEMORY:
      return "there is no memory for it";
    default:
      return "its data is damaged";
  }
}

// The decoder needs only the pixels' chunk, so it would not miss a tail that was cut off.
void check_complete(const ImageSource& source) {
  if (source.bytes.size() < 20) refuse_webp(source, "the file is cut short");
  const uint8_t* b = data_of(source.bytes);
  const uint64_t declared = b[4] | b[5] << 8 | b[6] << 16 | uint64_t{b[7]} << 24;
  if (declared + 8 > source.bytes.size()) refuse_webp(source, "the file is cut short");
}

WebPBitstreamFeatures read_features(const ImageSource& source) {
  check_complete(source);
  WebPBitstreamFeatures features{};
  const VP8StatusCode status =
      WebPGetFeatures(data_of(source.bytes), source.bytes.size(), &features);
  if (status != VP8_STATUS_OK) refuse_webp(source, reason_of(status));
  check_image_size(source, features.width, features.height);
  return features;
}

Image blank(const WebPBitstreamFeatures& features) {
  return Image::zeros(features.width, features.height, features.has_alpha ? 4 : 3);
}

Image decode_still(const ImageSource& source, const WebPBitstreamFeatures& features) {
  Image image = blank(features);
  WebPDecoderConfig config;
  ensure(WebPInitDecoderConfig(&config) != 0, "libwebp's version differs from its headers");
  config.output.colorspace = features.has_alpha ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = image.pixels.data();
  config.output.u.RGBA.stride = static_cast<int>(image.row_bytes());
  config.output.u.RGBA.size = image.pixels.size();
  const VP8StatusCode status = WebPDecode(data_of(source.bytes), source.bytes.size(), &config);
  if (status != VP8_STATUS_OK) refuse_webp(source, reason_of(status));
  return image;
}

struct DeleteDecoder {
  void operator()(WebPAnimDecoder* decoder) const { WebPAnimDecoderDelete(decoder); }
};

// The first frame on its canvas, as Pillow opens an animation.
Image decode_first_frame(const ImageSource& source, const WebPBitstreamFeatures& features) {
  WebPAnimDecoderOptions options;
  ensure(WebPAnimDecoderOptionsInit(&options) != 0, "libwebp's version differs from its headers");
  options.color_mode = MODE_RGBA;
  const WebPData data{data_of(source.bytes), source.bytes.size()};
  const std::unique_ptr<WebPAnimDecoder, DeleteDecoder> decoder(
      WebPAnimDecoderNew(&data, &options));
  if (!decoder) refuse_webp(source, "its animation is damaged");
  WebPAnimInfo info;
  uint8_t* frame = nullptr;
  int timestamp = 0;
  if (!WebPAnimDecoderGetInfo(decoder.get(), &info) ||
      info.canvas_width != static_cast<uint32_t>(features.width) ||
      info.canvas_height != static_cast<uint32_t>(features.height) ||
      !WebPAnimDecoderGetNext(decoder.get(), &frame, &timestamp)) {
    refuse_webp(source, "its first frame is damaged");
  }
  Image image = Image::zeros(features.width, features.height, 4);
  std::memcpy(image.pixels.data(), frame, image.pixels.size());
  return features.has_alpha ? image : to_rgb(image);
}

class WebpEncoding {
 public:
  WebpEncoding() {
    ensure(WebPPictureInit(&encoded_) != 0, "libwebp's version differs from its headers");
    WebPMemoryWriterInit(&writer_);
    encoded_.writer = WebPMemoryWrite;
    encoded_.custom_ptr = &writer_;
  }
  WebpEncoding(const WebpEncoding&) = delete;
  ~WebpEncoding() {
    WebPPictureFree(&encoded_);
    WebPMemoryWriterClear(&writer_);
  }

  void encode(const Image& image, const WebPConfig& config) {
    encoded_.use_argb = config.lossless;
    encoded_.width = static_cast<int>(image.width);
    encoded_.height = static_cast<int>(image.height);
    const int stride = static_cast<int>(image.row_bytes());
    const int imported = image.channels == 4
                             ? WebPPictureImportRGBA(&encoded_, image.pixels.data(), stride)
                             : WebPPictureImportRGB(&encoded_, image.pixels.data(), stride);
    if (!imported || !WebPEncode(&config, &encoded_)) {
      if (encoded_.error_code == VP8_ENC_ERROR_PARTITION0_OVERFLOW ||
          encoded_.error_code == VP8_ENC_ERROR_FILE_TOO_BIG) {
        throw InvalidRequest(Finding{"format", "webp", "the image has too much detail for WebP",
                                     "lower the quality, or write PNG or JPEG"});
      }
      throw OutOfMemory("no memory to encode a WebP");
    }
  }

  WebPData bytes() const { return {writer_.mem, writer_.size}; }

 private:
  WebPPicture encoded_;
  WebPMemoryWriter writer_;
};

WebPConfig make_config(const EncodeOptions& options) {
  WebPConfig config;
  ensure(WebPConfigInit(&config) != 0, "libwebp's version differs from its headers");
  config.lossless = options.lossless ? 1 : 0;
  // In lossless coding this number is effort, not quality; 75 is libwebp's own default.
  config.quality = options.lossless ? 75.0F : static_cast<float>(options.quality);
  config.exact = 1;  // keep the colour of transparent pixels
  ensure(WebPValidateConfig(&config) != 0, "an invalid WebP configuration");
  return config;
}

struct DeleteMux {
  void operator()(WebPMux* mux) const { WebPMuxDelete(mux); }
};

struct OwnedData {
  WebPData data{};
  OwnedData() = default;
  OwnedData(const OwnedData&) = delete;
  ~OwnedData() { WebPDataClear(&data); }
};

std::string as_string(const WebPData& data) {
  return std::string(reinterpret_cast<const char*>(data.bytes), data.size);
}

}  // namespace

std::string with_metadata(std::string_view webp, const ImageMetadata& metadata) {
  if (metadata.empty()) return std::string(webp);
  const WebPData image{data_of(webp), webp.size()};
  const std::unique_ptr<WebPMux, DeleteMux> mux(WebPMuxCreate(&image, 0));
  if (!mux) throw OutOfMemory("no memory to assemble a WebP");
  const std::string packet = xmp_packet(metadata);
  const WebPData xmp{data_of(packet), packet.size()};
  auto parameters = metadata.find(parameters_metadata_key);
  const std::string exif =
      parameters == metadata.end() ? "" : exif_with_comment(parameters->second);
  const WebPData exif_data{data_of(exif), exif.size()};
  OwnedData assembled;
  if ((!exif.empty() && WebPMuxSetChunk(mux.get(), "EXIF", &exif_data, 0) != WEBP_MUX_OK) ||
      WebPMuxSetChunk(mux.get(), "XMP ", &xmp, 0) != WEBP_MUX_OK ||
      WebPMuxAssemble(mux.get(), &assembled.data) != WEBP_MUX_OK) {
    throw OutOfMemory("no memory to assemble a WebP");
  }
  return as_string(assembled.data);
}

ImageInfo probe_webp(const ImageSource& source) {
  const WebPBitstreamFeatures features = read_features(source);
  return {ImageFormat::webp, features.width, features.height, features.has_alpha ? 4 : 3};
}

Image decode_webp(const ImageSource& source) {
  const WebPBitstreamFeatures features = read_features(source);
  return features.has_animation ? decode_first_frame(source, features)
                                : decode_still(source, features);
}

std::string encode_webp(const Image& image, const ImageMetadata& metadata,
                        const EncodeOptions& options) {
  if (image.width > WEBP_MAX_DIMENSION || image.height > WEBP_MAX_DIMENSION) {
    throw InvalidRequest(Finding{
        "format", "webp",
        "a WebP side is at most " + std::to_string(WEBP_MAX_DIMENSION) + " pixels", "write a PNG"});
  }
  WebpEncoding encoding;
  encoding.encode(image.channels == 1 ? to_rgb(image) : image, make_config(options));
  return with_metadata(as_string(encoding.bytes()), metadata);
}

}  // namespace omnirt::io
