#pragma once
#include "io/image.hpp"

namespace omnirt::io {

// Edges by Canny's method (IEEE PAMI 8, 1986), grey: 255 on an edge, else 0. Bit for bit what
// OpenCV's cv2.Canny(image, low, high) returns: Sobel's gradients of 3x3 with the border repeated,
// their strength |dx| + |dy|, of an RGB image that channel's whose gradient is strongest; edges are
// ridges stronger than `high`, and those stronger than `low` that are connected with them. The two
// are swapped where `low` is larger. Alpha is dropped.
Image canny_edges(const Image& image, int low, int high);

}  // namespace omnirt::io
