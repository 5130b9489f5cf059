#include "io/video.hpp"

#include <fmt/format.h>
#include <gif_lib.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <webp/demux.h>

#include <cmath>
extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libswscale/swscale.h>
}

#include "base/error.hpp"
#include "io/file.hpp"
#include "temp_folder.hpp"

namespace omnirt::io {
namespace {
namespace fs = std::filesystem;
using omnirt::testing::TempFolder;

// A ball that moves over a gradient: smooth, as video is.
Image picture(int64_t width, int64_t height, int64_t time) {
  Image image = Image::zeros(width, height, 3);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      uint8_t* pixel = image.row(y) + 3 * x;
      double off = std::hypot(static_cast<double>(x - 8 - 4 * time), static_cast<double>(y - 12));
      double ball = std::clamp(9.0 - off, 0.0, 1.0);
      pixel[0] = static_cast<uint8_t>(40 + 2 * y + ball * 100);
      pixel[1] = static_cast<uint8_t>(60 + 2 * x);
      pixel[2] = static_cast<uint8_t>(200 - 2 * y);
    }
  }
  return image;
}

std::vector<Image> moving(int64_t width, int64_t height, int64_t count) {
  std::vector<Image> frames;
  for (int64_t t = 0; t < count; ++t) frames.push_back(picture(width, height, t));
  return frames;
}

// In dB, over the part that both have.
double psnr(const Image& a, const Image& b) {
  double sum = 0;
  int64_t width = std::min(a.width, b.width), height = std::min(a.height, b.height);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t i = 0; i < width * 3; ++i) sum += std::pow(a.row(y)[i] - b.row(y)[i], 2);
  }
  return 10 * std::log10(255.0 * 255.0 * static_cast<double>(width * height * 3) / sum);
}

struct Read {
  std::vector<Image> frames;
  double fps = 0;
  std::string comment;
  std::string codec;
};

Image rgb_of(const AVFrame* frame) {
  Image image = Image::zeros(frame->width, frame->height, 3);
  SwsContext* scale = sws_getContext(
      frame->width, frame->height, static_cast<AVPixelFormat>(frame->format), frame->width,
      frame->height, AV_PIX_FMT_RGB24, SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, nullptr,
      nullptr, nullptr);
  sws_setColorspaceDetails(scale, sws_getCoefficients(SWS_CS_ITU709), 0,
                           sws_getCoefficients(SWS_CS_ITU709), 1, 0, 1 << 16, 1 << 16);
  uint8_t* rows[1] = {image.pixels.data()};
  int stride[1] = {static_cast<int>(image.row_bytes())};
  sws_scale(scale, frame->data, frame->linesize, 0, frame->height, rows, stride);
  sws_freeContext(scale);
  return image;
}

Read read_mp4(const fs::path& path) {
  Read read;
  AVFormatContext* format = nullptr;
  EXPECT_EQ(avformat_open_input(&format, path.c_str(), nullptr, nullptr), 0);
  if (!format) return read;
  avformat_find_stream_info(format, nullptr);
  const AVStream* stream = format->streams[0];
  const AVCodec* codec = avcodec_find_decoder(stream->codecpar->codec_id);
  AVCodecContext* decoder = avcodec_alloc_context3(codec);
  avcodec_parameters_to_context(decoder, stream->codecpar);
  avcodec_open2(decoder, codec, nullptr);
  read.fps = av_q2d(stream->avg_frame_rate);
  read.codec = codec->name;
  if (const auto* entry = av_dict_get(format->metadata, "comment", nullptr, 0))
    read.comment = entry->value;
  AVPacket* packet = av_packet_alloc();
  AVFrame* frame = av_frame_alloc();
  auto drain = [&] {
    while (avcodec_receive_frame(decoder, frame) == 0) read.frames.push_back(rgb_of(frame));
  };
  while (av_read_frame(format, packet) == 0) {
    avcodec_send_packet(decoder, packet);
    av_packet_unref(packet);
    drain();
  }
  avcodec_send_packet(decoder, nullptr);
  drain();
  av_frame_free(&frame);
  av_packet_free(&packet);
  avcodec_free_context(&decoder);
  avformat_close_input(&format);
  return read;
}

TEST(Mp4, HoldsTheFramesAtTheirSpeed) {
  TempFolder folder;
  fs::path path = folder.path() / "clip.mp4";
  std::vector<Image> frames = moving(48, 32, 9);
  write_video(path, frames, VideoFormat::mp4, {{"omnirt", R"({"seed": 7, "prompt": "ä"})"}},
              {.fps = 7});
  Read read = read_mp4(path);
  ASSERT_EQ(read.frames.size(), frames.size());
  EXPECT_DOUBLE_EQ(read.fps, 7);
  EXPECT_EQ(read.codec, "h264");
  EXPECT_EQ(read.comment, R"({"seed": 7, "prompt": "ä"})");
  for (size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(read.frames[i].width, 48);
    EXPECT_EQ(read.frames[i].height, 32);
    EXPECT_GT(psnr(read.frames[i], frames[i]), 30) << i;
  }
}

TEST(Mp4, RepeatsTheLastRowAndColumnOfOddSizes) {
  TempFolder folder;
  fs::path path = folder.path() / "odd.mp4";
  std::vector<Image> frames = moving(33, 25, 3);
  write_video(path, frames, VideoFormat::mp4, {}, {.fps = 12.5});
  Read read = read_mp4(path);
  ASSERT_EQ(read.frames.size(), 3u);
  EXPECT_DOUBLE_EQ(read.fps, 12.5);
  auto size = video_size(frames[0], VideoFormat::mp4);
  EXPECT_EQ(size[0], 34);
  EXPECT_EQ(read.frames[0].width, 34);
  EXPECT_EQ(read.frames[0].height, 26);
  EXPECT_GT(psnr(read.frames[2], frames[2]), 30);
}

TEST(Mp4, IsTheSameFileForTheSameFrames) {
  std::vector<Image> frames = moving(32, 32, 4);
  EXPECT_EQ(encode_video(frames, VideoFormat::mp4, {}, {}),
            encode_video(frames, VideoFormat::mp4, {}, {}));
}

TEST(Mp4, HoldsOneFrame) {
  TempFolder folder;
  write_video(folder.path() / "one.mp4", moving(16, 16, 1), VideoFormat::mp4, {}, {});
  EXPECT_EQ(read_mp4(folder.path() / "one.mp4").frames.size(), 1u);
}

TEST(Gif, HoldsTheFramesAtTheirSpeed) {
  TempFolder folder;
  fs::path path = folder.path() / "clip.gif";
  std::vector<Image> frames = moving(40, 24, 7);
  write_video(path, frames, VideoFormat::gif, {{"omnirt", "made so"}}, {.fps = 7});
  GifFileType* gif = DGifOpenFileName(path.c_str(), nullptr);
  ASSERT_NE(gif, nullptr);
  ASSERT_EQ(DGifSlurp(gif), GIF_OK);
  ASSERT_EQ(gif->ImageCount, 7);
  EXPECT_EQ(gif->SWidth, 40);
  EXPECT_EQ(gif->SHeight, 24);
  int shown = 0;
  for (int i = 0; i < gif->ImageCount; ++i) {
    GraphicsControlBlock control;
    DGifSavedExtensionToGCB(gif, i, &control);
    shown += control.DelayTime;
    Image image = Image::zeros(40, 24, 3);
    for (int p = 0; p < 40 * 24; ++p) {
      const GifColorType& colour = gif->SColorMap->Colors[gif->SavedImages[i].RasterBits[p]];
      image.pixels[3 * p] = colour.Red;
      image.pixels[3 * p + 1] = colour.Green;
      image.pixels[3 * p + 2] = colour.Blue;
    }
    EXPECT_GT(psnr(image, frames[static_cast<size_t>(i)]), 28) << i;
  }
  EXPECT_EQ(shown, 100);  // hundredths of a second, of 7 frames at 7 a second
  DGifCloseFile(gif, nullptr);
  EXPECT_THAT(read_file(path, 1 << 20), ::testing::HasSubstr("made so"));
}

TEST(AnimatedWebp, HoldsTheFramesAtTheirSpeed) {
  TempFolder folder;
  fs::path path = folder.path() / "clip.webp";
  std::vector<Image> frames = moving(40, 24, 6);
  write_video(path, frames, VideoFormat::webp, {{"omnirt", "made so"}}, {.fps = 8});
  std::string bytes = read_file(path, 1 << 20);
  WebPData data{reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
  WebPAnimDecoder* decoder = WebPAnimDecoderNew(&data, nullptr);
  ASSERT_NE(decoder, nullptr);
  WebPAnimInfo info;
  WebPAnimDecoderGetInfo(decoder, &info);
  EXPECT_EQ(info.frame_count, 6u);
  EXPECT_EQ(info.loop_count, 0u);
  size_t i = 0;
  int shown = 0;
  while (WebPAnimDecoderHasMoreFrames(decoder)) {
    uint8_t* pixels = nullptr;
    WebPAnimDecoderGetNext(decoder, &pixels, &shown);
    Image image = Image::zeros(40, 24, 4);
    std::copy_n(pixels, image.pixels.size(), image.pixels.data());
    EXPECT_GT(psnr(to_rgb(image), frames[i]), 28) << i;
    ++i;
  }
  EXPECT_EQ(i, 6u);
  EXPECT_EQ(shown, 750);  // milliseconds
  WebPAnimDecoderDelete(decoder);
  EXPECT_EQ(image_metadata(bytes, "clip.webp").at("omnirt"), "made so");
}

TEST(Frames, AreNumberedImagesInAFolder) {
  TempFolder folder;
  fs::path path = folder.path() / "clip";
  std::vector<Image> frames = moving(20, 10, 3);
  write_video(path, frames, VideoFormat::frames, {{"omnirt", "made so"}}, {});
  for (size_t i = 0; i < frames.size(); ++i)
    EXPECT_EQ(read_image(path / fmt::format("{:06}.png", i)), frames[i]);
  EXPECT_EQ(read_image_metadata(path / "000001.png").at("omnirt"), "made so");
  EXPECT_FALSE(may_hold_frames(path));
  EXPECT_THROW(write_video(path, frames, VideoFormat::frames, {}, {}), InvalidRequest);
}

TEST(Video, LeavesNothingWhereItFails) {
  TempFolder folder;
  std::vector<Image> uneven = moving(20, 10, 2);
  uneven.push_back(picture(22, 10, 0));
  for (VideoFormat format :
       {VideoFormat::mp4, VideoFormat::gif, VideoFormat::webp, VideoFormat::frames}) {
    fs::path path = folder.path() / (std::string("clip") + video_extension(format));
    EXPECT_THROW(write_video(path, uneven, format, {}, {}), InvalidRequest);
    EXPECT_THROW(write_video(path, {}, format, {}, {}), InvalidRequest);
    EXPECT_THROW(write_video(path, moving(8, 8, 1), format, {}, {.fps = 0}), InvalidRequest);
    EXPECT_THROW(write_video(path, moving(8, 8, 1), format, {}, {.fps = NAN}), InvalidRequest);
    EXPECT_THROW(
        write_video(folder.path() / "missing" / path.filename(), moving(8, 8, 1), format, {}, {}),
        InvalidRequest);
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Video, TakesItsFormatFromTheName) {
  EXPECT_EQ(video_format_from_path("a/clip.MP4"), VideoFormat::mp4);
  EXPECT_EQ(video_format_from_path("clip.gif"), VideoFormat::gif);
  EXPECT_EQ(video_format_from_path("clip"), VideoFormat::frames);
  EXPECT_THROW(video_format_from_path("clip.avi"), InvalidRequest);
}

}  // namespace
}  // namespace omnirt::io
