#pragma once
#include <span>
#include <string>
#include <vector>

#include "io/image.hpp"

namespace omnirt::io {

// Each image, in RGB, with its caption in black on white below it: centred, broken between words
// into lines as wide as the image, up to three; all take the height of the longest. What is not
// printable ASCII is shown as '?'. `ensure`s one caption per image.
std::vector<Image> with_captions(std::span<const Image> images,
                                 std::span<const std::string> captions);

}  // namespace omnirt::io
