#include "request/latent_grid.hpp"

#include "nn/autoencoder.hpp"
#include "request/proposal.hpp"

namespace omnirt {

int64_t pixels_per_latent(const Proposal& proposal) {
  return proposal.network<nn::Autoencoder>("vae").scale_factor();
}

int64_t latent_channels(const Proposal& proposal) {
  return proposal.network<nn::Autoencoder>("vae").latent_channels();
}

}  // namespace omnirt
