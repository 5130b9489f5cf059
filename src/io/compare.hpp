#pragma once
#include "io/image.hpp"

namespace omnirt::io {

// Peak signal-to-noise ratio over all channels in dB, peak 255; infinity when the pixels are equal.
// Throws InvalidRequest when the sizes or channels differ.
double psnr(const Image& a, const Image& b);

}  // namespace omnirt::io
