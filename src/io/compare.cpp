#include "io/compare.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace omnirt::io {

double psnr(const Image& a, const Image& b) {
  if (a.width != b.width || a.height != b.height || a.channels != b.channels) {
    throw InvalidRequest(Finding{"images",
                                 fmt::format("{}x{}x{} and {}x{}x{}", a.width, a.height, a.channels,
                                             b.width, b.height, b.channels),
                                 "only images of one size and number of channels can be compared",
                                 "resize or convert one"});
  }
  uint64_t squares = 0;
  for (size_t i = 0; i < a.pixels.size(); ++i) {
    const int difference = a.pixels[i] - b.pixels[i];
    squares += static_cast<uint64_t>(difference * difference);
  }
  if (squares == 0) return std::numeric_limits<double>::infinity();
  const double mean = static_cast<double>(squares) / static_cast<double>(a.pixels.size());
  return 10.0 * std::log10(255.0 * 255.0 / mean);
}

}  // namespace omnirt::io
