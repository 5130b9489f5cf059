#pragma once
#include "blocks/shifted_timesteps.hpp"

namespace omnirt::flux2 {

// How far noise levels are shifted for an image of this many tokens denoised in this many steps
// (reference: pipeline_flux2.compute_empirical_mu).
double empirical_mu(int64_t image_tokens, int64_t steps);

// The same for the blocks that plan schedules.
blocks::LevelShift level_shift();

}  // namespace omnirt::flux2
