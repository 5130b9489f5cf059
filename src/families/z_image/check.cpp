#include "families/z_image/check.hpp"

#include <fmt/format.h>

namespace omnirt::z_image {

void CheckParts::check(Checks& checks) const {
  int64_t in = checks[transformer].in_channels(), latents = checks[vae].latent_channels();
  if (in == latents) return;
  checks.error({"transformer.in_channels", std::to_string(in),
                fmt::format("the autoencoder's latents have {} channels", latents),
                "use the autoencoder of the same model"});
}

}  // namespace omnirt::z_image
