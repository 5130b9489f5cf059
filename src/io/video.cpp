#include "io/video.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/nearest.hpp"
#include "base/path_text.hpp"
#include "io/av_libraries.hpp"
#include "io/file.hpp"
#include "io/new_folder.hpp"
#include "io/video_codec.hpp"

namespace omnirt::io {
namespace fs = std::filesystem;
namespace {

struct FormatRow {
  VideoFormat format;
  const char* media_type;
  const char* extension;
  int64_t max_side;
};

constexpr std::array formats{
    FormatRow{VideoFormat::mp4, "video/mp4", ".mp4", 16384},
    FormatRow{VideoFormat::gif, "image/gif", ".gif", 65535},
    FormatRow{VideoFormat::webp, "image/webp", ".webp", 16383},
    FormatRow{VideoFormat::frames, "image/png", "", 16384},
};

const FormatRow& row_of(VideoFormat format) {
  return *std::ranges::find(formats, format, &FormatRow::format);
}

void check_frames(std::span<const Image> frames, VideoFormat format, const VideoOptions& options) {
  auto refuse = [](const char* field, std::string value, std::string what, std::string way_out) {
    throw InvalidRequest(Finding{field, std::move(value), std::move(what), std::move(way_out)});
  };
  if (frames.empty()) refuse("frames", "0", "a video has at least one frame", "");
  const Image& first = frames.front();
  for (const Image& frame : frames) {
    if (frame.channels != 3 || frame.width != first.width || frame.height != first.height)
      refuse("frames", fmt::format("{}x{}, {} channels", frame.width, frame.height, frame.channels),
             fmt::format("the first is {}x{}, RGB", first.width, first.height),
             "give frames of one size");
  }
  const FormatRow& row = row_of(format);
  if (std::max(first.width, first.height) > row.max_side)
    refuse("frames", fmt::format("{}x{}", first.width, first.height),
           fmt::format("a side of {} is at most {} pixels", name_of(format), row.max_side),
           "write another format, or a smaller video");
  constexpr int64_t most_pixels = std::numeric_limits<int32_t>::max();
  if (first.width * first.height > most_pixels / static_cast<int64_t>(frames.size()))
    refuse("frames", fmt::format("{} of {}x{}", frames.size(), first.width, first.height),
           "more than 2^31 pixels in all", "write fewer frames a file");
  constexpr double most_fps = 240;
  if (!(options.fps > 0 && options.fps <= most_fps))
    refuse("fps", fmt::format("{}", options.fps), "out of range", "give more than 0, to 240");
}

void write_frames(const fs::path& path, std::span<const Image> frames,
                  const ImageMetadata& metadata) {
  if (!may_hold_frames(path))
    throw InvalidRequest(Finding{"path", path_text(path),
                                 "is there already, and not an empty folder",
                                 "name another folder"});
  NewFolder folder("path", path);
  for (size_t i = 0; i < frames.size(); ++i)
    write_image(folder.path() / fmt::format("{:06}.png", i), frames[i], ImageFormat::png, metadata);
  folder.commit();
}

}  // namespace

VideoFormat video_format_from_path(const fs::path& path) {
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const FormatRow& row : formats) {
    if (extension == row.extension) return row.format;
  }
  throw InvalidRequest(Finding{"output", path.filename().string(),
                               fmt::format("'{}' is no video's extension", extension),
                               "name a .mp4, .gif or .webp file, or a folder for frames"});
}

const char* video_media_type(VideoFormat format) {
  return row_of(format).media_type;
}

const char* video_extension(VideoFormat format) {
  return row_of(format).extension;
}

std::optional<std::string> video_format_missing(VideoFormat format) {
  return format == VideoFormat::mp4 ? av_libraries_missing() : std::nullopt;
}

int64_t shown_at(size_t i, double fps, int64_t units_per_second) {
  return std::llround(static_cast<double>(i) * static_cast<double>(units_per_second) / fps);
}

std::string encode_video(std::span<const Image> frames, VideoFormat format,
                         const ImageMetadata& metadata, const VideoOptions& options) {
  check_frames(frames, format, options);
  switch (format) {
    case VideoFormat::mp4:
      return encode_mp4(frames, metadata, options);
    case VideoFormat::gif:
      return encode_gif(frames, metadata, options);
    case VideoFormat::webp:
      return encode_animated_webp(frames, metadata, options);
    case VideoFormat::frames:
      break;
  }
  throw InvalidRequest(Finding{"format", "frames", "a folder of files has no bytes", ""});
}

void write_video(const fs::path& path, std::span<const Image> frames, VideoFormat format,
                 const ImageMetadata& metadata, const VideoOptions& options) {
  if (format == VideoFormat::frames) {
    check_frames(frames, format, options);
    write_frames(path, frames, metadata);
  } else {
    write_file(path, encode_video(frames, format, metadata, options));
  }
}

bool may_hold_frames(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) return !error;
  return fs::is_directory(folder, error) && fs::is_empty(folder, error);
}

std::array<int64_t, 2> video_size(const Image& frame, VideoFormat format) {
  if (format != VideoFormat::mp4) return {frame.width, frame.height};
  return {frame.width + frame.width % 2, frame.height + frame.height % 2};
}

}  // namespace omnirt::io
