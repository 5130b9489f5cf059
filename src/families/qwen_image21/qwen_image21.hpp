#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Qwen-Image 2.1: one sequence of a text, which Qwen3-VL reads, of images in it that it looks at,
// and of an image with an alpha channel; text2image, edit.
Family qwen_image21();

}  // namespace omnirt::families
