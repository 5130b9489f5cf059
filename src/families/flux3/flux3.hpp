#pragma once
#include "pipeline/model_spec.hpp"

namespace omnirt::families {

// FLUX.3 Image klein, base and distilled (reference: diffusers' Flux3AutoBlocks and
// Flux3DistilledAutoBlocks without their prompt upsampler).
Family flux3();

}  // namespace omnirt::families
