#pragma once
#include "io/video.hpp"

// What video.cpp passes to each format's encoder: frames that were checked.
namespace omnirt::io {

std::string encode_mp4(std::span<const Image> frames, const ImageMetadata& metadata,
                       const VideoOptions& options);
std::string encode_gif(std::span<const Image> frames, const ImageMetadata& metadata,
                       const VideoOptions& options);
std::string encode_animated_webp(std::span<const Image> frames, const ImageMetadata& metadata,
                                 const VideoOptions& options);

// The time at which frame i of a video is shown, in units of this many per second, rounded; so that
// the rounding of single frames does not add up.
int64_t shown_at(size_t i, double fps, int64_t units_per_second);

}  // namespace omnirt::io
