#pragma once
#include "io/image.hpp"
#include "io/image_format.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/keys.hpp"

namespace omnirt::blocks {

// A finding where images with an alpha channel (`whose`: "layers") would be written as a format
// that has none.
void check_format_has_alpha(Checks& checks, const Config<std::string>& output,
                            const Config<io::ImageFormat>& output_format, const std::string& whose);

}  // namespace omnirt::blocks
