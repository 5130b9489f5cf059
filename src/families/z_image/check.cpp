#include "families/z_image/check.hpp"

#include "blocks/image_size.hpp"

namespace omnirt::z_image {

void CheckParts::check(Checks& checks) const {
  blocks::check_latent_channels(checks, checks[vae], "in_channels",
                                checks[transformer].in_channels());
}

}  // namespace omnirt::z_image
