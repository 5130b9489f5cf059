#pragma once
#include <functional>
#include <span>

#include "base/report.hpp"
#include "io/image.hpp"

namespace omnirt {

// What a run made, as the program that runs it is given it; valid during the call.
struct Artifact {
  // Its path and mime are "" where no file was written.
  const ArtifactReport& report;
  // The pixels before they are encoded, 8 bits per channel: the one of an image, the frames of a
  // video in order; none of latents, which are in their file.
  std::span<const io::Image> images;
};
using OnArtifact = std::function<void(const Artifact&)>;

// Which images, videos and latents become files.
enum class Files {
  always,       // in output_dir's default where the request names no place
  where_named,  // images and videos only where the request names output or output_dir
  named_only,   // latents too: for programs that take them from the frame
};

}  // namespace omnirt
