#pragma once
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "base/choice.hpp"
#include "io/image.hpp"

namespace omnirt::io {

// frames: a folder of numbered PNG files.
enum class VideoFormat { mp4, gif, webp, frames };

// By the extension; a path without one is a folder of frames. Throws InvalidRequest for another.
VideoFormat video_format_from_path(const std::filesystem::path& path);
const char* video_media_type(VideoFormat format);
// ".mp4"; "" for frames.
const char* video_extension(VideoFormat format);
// Why this machine cannot write the format, and what to do about it; nothing where it can.
std::optional<std::string> video_format_missing(VideoFormat format);

struct VideoOptions {
  double fps = 7;         // frames per second, above 0 to 240
  int quality = 17;       // mp4: constant rate factor, 0 (best) to 51
  int webp_quality = 90;  // 1 to 100
};

// The bytes of a video file of frames that are alike in size and number of channels (3). A side is
// at most 16384 pixels (mp4), 65535 (gif), 16383 (webp). mp4 holds H.264 (MPEG-4 part 2 where the
// machine's FFmpeg has no libx264) in yuv420p, BT.709; a frame of an odd side gets its last row or
// column twice, since that form has one colour for two by two pixels. Metadata: a comment (mp4,
// gif) of the one text or XMP (webp). gif has one palette of 256 colours for all frames. Throws
// InvalidRequest for frames or options that do not fit, RunFailed where a library fails.
std::string encode_video(std::span<const Image> frames, VideoFormat format,
                         const ImageMetadata& metadata, const VideoOptions& options);

// Writes the file through AtomicFile, or the folder of frames (000000.png, ...) under another name
// that becomes `path` at the end. Throws as encode_video, and InvalidRequest for a folder that is
// there and not empty.
void write_video(const std::filesystem::path& path, std::span<const Image> frames,
                 VideoFormat format, const ImageMetadata& metadata, const VideoOptions& options);

// Whether `folder` may become a folder of frames: it is not there, or empty.
bool may_hold_frames(const std::filesystem::path& folder);

// The size of the images in a file of this format.
std::array<int64_t, 2> video_size(const Image& frame, VideoFormat format);  // {width, height}

}  // namespace omnirt::io

template <>
struct omnirt::ChoiceNames<omnirt::io::VideoFormat> {
  static constexpr std::array names{"mp4", "gif", "webp", "frames"};
};
