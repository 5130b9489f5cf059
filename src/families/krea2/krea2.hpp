#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Krea 2: a diffusion transformer that reads many layers of Qwen3-VL; text2image.
Family krea2();

}  // namespace omnirt::families
