#pragma once
#include "io/image.hpp"

namespace omnirt::io {

// Image.resize of Pillow 13, bit for bit (coefficients of 22 bits, one pass across and one down;
// the filter widens when the image shrinks; RGBA is filtered with alpha multiplied in). Size is
// in pixels. Throw InvalidRequest when it is not within ImageLimits.
Image resize_nearest(const Image& image, int64_t width, int64_t height);
Image resize_bilinear(const Image& image, int64_t width, int64_t height);
Image resize_bicubic(const Image& image, int64_t width, int64_t height);
Image resize_lanczos(const Image& image, int64_t width, int64_t height);

// Averages over the area of each pixel of the result, which is no larger: OpenCV's INTER_AREA.
// Throws InvalidRequest where it would be larger, or empty.
Image resize_area(const Image& image, int64_t width, int64_t height);

}  // namespace omnirt::io
