#include "families/sana/check.hpp"

#include "blocks/image_size.hpp"

namespace omnirt::sana {

void CheckParts::check(Checks& checks) const {
  const auto& network = checks[transformer];
  if (blocks::check_latent_channels(checks, checks[vae], "in_channels", network.in_channels()))
    blocks::check_latent_channels(checks, checks[vae], "out_channels", network.out_channels());
}

blocks::BinnedSizes sana_sizes() {
  return {.latent_pixels = 32,
          .patch_size =
              [](const nn::DenoiserNetwork& transformer) {
                return dynamic_cast<const SanaTransformer2DModel&>(transformer).patch_size();
              },
          .usual_side = 1024};
}

}  // namespace omnirt::sana
