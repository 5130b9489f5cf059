#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// Sana, Sana 1.5 and Sana-Sprint: a transformer of linear attention over few latents, under Gemma
// 2; text2image, and image2image of Sana-Sprint.
Family sana();

}  // namespace omnirt::families
