#pragma once
#include <cstdint>
#include <span>

#include "base/keys.hpp"

namespace omnirt::keys {

inline constexpr Key<bool> use_resolution_binning{
    "use_resolution_binning",
    true,
    {},
    "resolution-binning",
    "make the image at the nearest size that the model was trained on, then fit it to the size "
    "that was asked for"};

}  // namespace omnirt::keys

namespace omnirt::blocks {

struct PixelSize {
  int64_t height = 0, width = 0;
  bool operator==(const PixelSize&) const = default;
};

// The sizes that models of `pixels` a side were trained on, by aspect ratio (reference:
// ASPECT_RATIO_256_BIN and on, of PixArt's and Sana's pipelines); empty where there are none.
struct ResolutionBin {
  double ratio;  // height / width, as the reference rounds it
  PixelSize size;
};
std::span<const ResolutionBin> resolution_bins(int64_t pixels);

// The size that an image of `wanted` is made at: the bin of the nearest ratio, the first of
// equally near ones (reference: PixArtImageProcessor.classify_height_width_bin).
PixelSize binned(PixelSize wanted, std::span<const ResolutionBin> bins);

}  // namespace omnirt::blocks
