#pragma once
#include <string>

#include "blocks/reference_images.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::blocks {

// A finding about a reference image, which is in `field` of the request.
void refuse_reference(Checks& checks, const std::string& field, Size size, const std::string& why);
// False, and a finding, where an image is too small or too long to go by (reference:
// Flux2ImageProcessor.check_image_input).
bool check_proportions(Checks& checks, const std::string& field, Size size);

}  // namespace omnirt::blocks
