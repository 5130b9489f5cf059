#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// AuraFlow: a transformer over text and image under UMT5; text2image.
Family aura_flow();

}  // namespace omnirt::families
