#pragma once
#include "io/image.hpp"
#include "io/image_format.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// The image in RGBA, opaque where it has no alpha channel.
io::Image with_alpha(const io::Image& image);
// The same in RGB, in front of white (Pillow's Image.paste with the alpha channel as the mask).
io::Image over_white(const io::Image& image);

// A finding where images with an alpha channel (`whose`: "layers") would be written as a format
// that has none.
void check_format_has_alpha(Checks& checks, const Config<std::string>& output,
                            const Config<io::ImageFormat>& output_format, const std::string& whose);

}  // namespace omnirt::blocks
