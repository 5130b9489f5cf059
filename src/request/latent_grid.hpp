#pragma once
#include <cstdint>

namespace omnirt {

struct Proposal;

// Pixels a latent in height and width, as the autoencoder has it.
int64_t pixels_per_latent(const Proposal& proposal);
// Channels of the latents, by the same.
int64_t latent_channels(const Proposal& proposal);

}  // namespace omnirt
