#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Lumina-Image 2.0: a transformer over one stream of text and image under Gemma 2; text2image.
Family lumina2();

}  // namespace omnirt::families
