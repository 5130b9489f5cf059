#include "families/lumina2/check.hpp"

#include "blocks/image_size.hpp"

namespace omnirt::lumina2 {

void CheckParts::check(Checks& checks) const {
  const auto& network = checks[transformer];
  if (blocks::check_latent_channels(checks, checks[vae], "in_channels", network.in_channels()))
    blocks::check_latent_channels(checks, checks[vae], "out_channels", network.out_channels());
}

void ImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void ImageSize::check_side(Checks& checks, const Config<int64_t>& side, size_t axis) const {
  const int64_t latent = checks[vae].factors().side;
  const int64_t token = latent * checks[transformer].patch_size();
  auto pixels = checks.maybe(side);
  if (!pixels) {
    blocks::settle_from_model(checks, side, transformer, checks[transformer].sample_size()[0],
                              latent);
    return;
  }
  blocks::check_grid(checks, side, *pixels, token);
  blocks::check_positions(checks, side, *pixels, checks[transformer].axes_lens()[axis] * token);
}

void ImageSize::check(Checks& checks) const {
  check_side(checks, height, 1);
  check_side(checks, width, 2);
}

}  // namespace omnirt::lumina2
