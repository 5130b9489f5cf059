#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "io/av_libraries.hpp"
#include "io/video_codec.hpp"

namespace omnirt::io {
namespace {

constexpr size_t alignment = 64;  // bytes, of rows that FFmpeg reads
constexpr int io_buffer_bytes = 1 << 16;

// The file as it grows: a muxer goes back to fill in what it learns last.
struct Growing {
  std::string bytes;
  size_t at = 0;

  static int write(void* self, uint8_t* data, int count) {
    auto& file = *static_cast<Growing*>(self);
    size_t end = file.at + static_cast<size_t>(count);
    if (end > file.bytes.size()) file.bytes.resize(end);
    std::memcpy(file.bytes.data() + file.at, data, static_cast<size_t>(count));
    file.at = end;
    return count;
  }
  static int64_t seek(void* self, int64_t offset, int whence) {
    auto& file = *static_cast<Growing*>(self);
    auto size = static_cast<int64_t>(file.bytes.size());
    if (whence == AVSEEK_SIZE) return size;
    int64_t base = whence == SEEK_CUR   ? static_cast<int64_t>(file.at)
                   : whence == SEEK_END ? size
                                        : 0;
    int64_t to = base + offset;
    if (to < 0 || to > size) return AVERROR(EINVAL);
    file.at = static_cast<size_t>(to);
    return to;
  }
};

// One video on its way into memory; frees what libav made, in every case.
class Mp4 {
 public:
  Mp4(int64_t width, int64_t height, const VideoOptions& options)
      : av_(av_libraries()), width_(width), height_(height) {
    try {
      make(options);
    } catch (...) {
      free();
      throw;
    }
  }
  Mp4(const Mp4&) = delete;
  ~Mp4() { free(); }

  void begin(const ImageMetadata& metadata) {
    for (const auto& [key, text] : metadata)
      av_.av_dict_set(&format_->metadata, "comment", text.c_str(), 0);
    check(av_.avformat_write_header(format_, nullptr), "write a header");
  }

  void add(const Image& image) {
    check(av_.av_frame_make_writable(frame_), "take memory for a frame");
    Image even = padded(image);
    // The conversion reads beyond the end of the last row.
    size_t row = (even.row_bytes() + alignment - 1) / alignment * alignment;
    source_.assign(row * static_cast<size_t>(even.height) + 2 * alignment, 0);
    uint8_t* first = source_.data();
    first += (alignment - reinterpret_cast<uintptr_t>(first) % alignment) % alignment;
    for (int64_t y = 0; y < even.height; ++y)
      std::copy_n(even.row(y), even.row_bytes(), first + row * static_cast<size_t>(y));
    const uint8_t* rows[1] = {first};
    int stride[1] = {static_cast<int>(row)};
    av_.sws_scale(scale_, rows, stride, 0, static_cast<int>(even.height), frame_->data,
                  frame_->linesize);
    frame_->pts = next_pts_++;
    encode(frame_);
  }

  std::string end() {
    encode(nullptr);
    check(av_.av_write_trailer(format_), "end the file");
    av_.avio_flush(io_);
    return std::move(file_.bytes);
  }

 private:
  void check(int result, const char* what) const {
    if (result >= 0) return;
    char text[AV_ERROR_MAX_STRING_SIZE] = "";
    av_.av_strerror(result, text, sizeof(text));
    throw RunFailed(fmt::format("FFmpeg could not {}: {}", what, text));
  }
  template <class T>
  T* made(T* pointer, const char* what) const {
    if (!pointer) throw RunFailed(fmt::format("FFmpeg could not make {}", what));
    return pointer;
  }

  void make(const VideoOptions& options) {
    check(av_.avformat_alloc_output_context2(&format_, nullptr, "mp4", nullptr), "write mp4");
    auto* buffer =
        static_cast<unsigned char*>(made(av_.av_malloc(io_buffer_bytes), "a buffer for the file"));
    io_ = av_.avio_alloc_context(buffer, io_buffer_bytes, 1, &file_, nullptr, &Growing::write,
                                 &Growing::seek);
    if (!io_) av_.av_freep(static_cast<void*>(&buffer));
    format_->pb = made(io_, "an output");
    // Neither versions nor dates: equal videos are equal files.
    format_->flags |= AVFMT_FLAG_BITEXACT | AVFMT_FLAG_CUSTOM_IO;
    make_encoder(options);
    stream_ = made(av_.avformat_new_stream(format_, nullptr), "a stream");
    check(av_.avcodec_parameters_from_context(stream_->codecpar, encoder_), "describe its stream");
    stream_->time_base = encoder_->time_base;
    stream_->avg_frame_rate = encoder_->framerate;
    packet_ = made(av_.av_packet_alloc(), "a packet");
    make_frame();
  }

  void make_encoder(const VideoOptions& options) {
    const AVCodec* codec = av_.avcodec_find_encoder_by_name("libx264");
    bool h264 = codec != nullptr;
    if (!codec) codec = made(av_.avcodec_find_encoder(AV_CODEC_ID_MPEG4), "an encoder");
    encoder_ = made(av_.avcodec_alloc_context3(codec), "an encoder");
    encoder_->width = static_cast<int>(width_);
    encoder_->height = static_cast<int>(height_);
    encoder_->pix_fmt = AV_PIX_FMT_YUV420P;
    constexpr int finest = 1001000;
    encoder_->framerate = av_.av_d2q(options.fps, finest);
    encoder_->time_base = {encoder_->framerate.den, encoder_->framerate.num};
    encoder_->color_range = AVCOL_RANGE_MPEG;
    encoder_->colorspace = AVCOL_SPC_BT709;
    encoder_->color_primaries = AVCOL_PRI_BT709;
    encoder_->color_trc = AVCOL_TRC_IEC61966_2_1;
    encoder_->thread_count = 1;  // more make other bytes on another machine
    encoder_->flags |= AV_CODEC_FLAG_BITEXACT;
    if (format_->oformat->flags & AVFMT_GLOBALHEADER)
      encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (h264) {
      av_.av_opt_set(encoder_->priv_data, "crf", std::to_string(options.quality).c_str(), 0);
      av_.av_opt_set(encoder_->priv_data, "preset", "medium", 0);
      // Its macroblock tree depends on memory addresses on processors with AVX-512.
      av_.av_opt_set(encoder_->priv_data, "x264-params", "mbtree=0", 0);
    } else {
      encoder_->flags |= AV_CODEC_FLAG_QSCALE;
      encoder_->global_quality = 2 * FF_QP2LAMBDA;
    }
    check(av_.avcodec_open2(encoder_, codec, nullptr), "open its encoder");
  }

  void make_frame() {
    frame_ = made(av_.av_frame_alloc(), "a frame");
    frame_->format = encoder_->pix_fmt;
    frame_->width = encoder_->width;
    frame_->height = encoder_->height;
    frame_->color_range = encoder_->color_range;
    frame_->colorspace = encoder_->colorspace;
    check(av_.av_frame_get_buffer(frame_, 0), "take memory for a frame");
    int flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_BITEXACT;
    scale_ = made(
        av_.sws_getContext(encoder_->width, encoder_->height, AV_PIX_FMT_RGB24, encoder_->width,
                           encoder_->height, AV_PIX_FMT_YUV420P, flags, nullptr, nullptr, nullptr),
        "a conversion of colours");
    const int* bt709 = av_.sws_getCoefficients(SWS_CS_ITU709);
    constexpr int full = 1, limited = 0, neutral = 0, one = 1 << 16;
    av_.sws_setColorspaceDetails(scale_, bt709, full, bt709, limited, neutral, one, one);
  }

  // The last row and column again where a side is odd.
  Image padded(const Image& image) const {
    if (image.width == width_ && image.height == height_) return image;
    Image even = Image::zeros(width_, height_, image.channels);
    for (int64_t y = 0; y < height_; ++y) {
      const uint8_t* from = image.row(std::min(y, image.height - 1));
      std::copy_n(from, image.row_bytes(), even.row(y));
      if (width_ > image.width) {
        const uint8_t* last = from + (image.width - 1) * image.channels;
        std::copy_n(last, image.channels, even.row(y) + image.row_bytes());
      }
    }
    return even;
  }

  // Null ends the stream.
  void encode(const AVFrame* frame) {
    check(av_.avcodec_send_frame(encoder_, frame), "encode a frame");
    while (true) {
      int result = av_.avcodec_receive_packet(encoder_, packet_);
      if (result == AVERROR(EAGAIN) || result == AVERROR_EOF) return;
      check(result, "encode a frame");
      packet_->duration = 1;
      av_.av_packet_rescale_ts(packet_, encoder_->time_base, stream_->time_base);
      packet_->stream_index = stream_->index;
      check(av_.av_interleaved_write_frame(format_, packet_), "write a frame");
    }
  }

  void free() {
    av_.sws_freeContext(scale_);
    av_.av_frame_free(&frame_);
    av_.av_packet_free(&packet_);
    av_.avcodec_free_context(&encoder_);
    av_.avformat_free_context(format_);
    if (io_) av_.av_freep(static_cast<void*>(&io_->buffer));
    av_.avio_context_free(&io_);
  }

  const AvLibraries& av_;
  int64_t width_, height_;
  Growing file_;
  AVFormatContext* format_ = nullptr;
  AVIOContext* io_ = nullptr;
  AVCodecContext* encoder_ = nullptr;
  AVStream* stream_ = nullptr;
  AVPacket* packet_ = nullptr;
  AVFrame* frame_ = nullptr;
  SwsContext* scale_ = nullptr;
  int64_t next_pts_ = 0;
  std::vector<uint8_t> source_;  // the rows of a frame, aligned
};

}  // namespace

std::string encode_mp4(std::span<const Image> frames, const ImageMetadata& metadata,
                       const VideoOptions& options) {
  auto [width, height] = video_size(frames.front(), VideoFormat::mp4);
  Mp4 video(width, height, options);
  video.begin(metadata);
  for (const Image& frame : frames) video.add(frame);
  return video.end();
}

}  // namespace omnirt::io
