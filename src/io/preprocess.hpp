#pragma once
#include <string>

#include "base/choice.hpp"
#include "base/json.hpp"
#include "io/image.hpp"

namespace omnirt {

// What a ControlNet is given in place of an image, made without a network.
enum class PreprocessKind { none, canny, tile, grayscale, luminance, intensity, invert, threshold };
template <>
struct ChoiceNames<PreprocessKind> {
  static constexpr std::array names{"none",      "canny",     "tile",   "grayscale",
                                    "luminance", "intensity", "invert", "threshold"};
};

}  // namespace omnirt

namespace omnirt::io {

// A kind with its options.
struct Preprocess {
  PreprocessKind kind = PreprocessKind::none;
  int low = 100, high = 200;  // canny: thresholds, 0 to 2040
  double rate = 1.0;          // tile: how much smaller the image becomes on the way, 1 to 8
  int level = 127;            // threshold: what is lighter in all channels is white, 0 to 255
};

// "canny", or {"type": "canny", "low": 50, "high": 150}. Throws InvalidRequest under `field`.
Preprocess read_preprocess(const Json& given, const std::string& field);

// The image so prepared, of the same size; alpha is dropped. canny: edges (io/image_edges.hpp);
// tile: made smaller by averages over areas, as OpenCV's INTER_AREA, and larger again by Lanczos'
// filter; grayscale: Pillow's luma; luminance: the
// lightness of CIE Lab, as in OpenCV's COLOR_RGB2LAB in 8 bits; intensity: the strongest
// channel; invert: 255 less each value; threshold: white where every channel is above `level`, else
// black.
Image preprocessed(const Image& image, const Preprocess& how);

}  // namespace omnirt::io
