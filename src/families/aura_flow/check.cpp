#include "families/aura_flow/check.hpp"

#include "blocks/image_size.hpp"

namespace omnirt::aura_flow {
namespace {

constexpr int64_t usual_side = 1024;

}  // namespace

void CheckParts::check(Checks& checks) const {
  const auto& network = checks[transformer];
  if (blocks::check_latent_channels(checks, checks[vae], "in_channels", network.in_channels()))
    blocks::check_latent_channels(checks, checks[vae], "out_channels", network.out_channels());
}

void ImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void ImageSize::check_side(Checks& checks, const Config<int64_t>& side) const {
  const int64_t token = checks[vae].factors().side * checks[transformer].patch_size();
  auto pixels = checks.maybe(side);
  if (pixels)
    blocks::check_grid(checks, side, *pixels, token);
  else
    checks.settle(side, usual_side, Origin::model);
  blocks::check_positions(checks, side, pixels.value_or(usual_side),
                          checks[transformer].positions_side() * token);
}

void ImageSize::check(Checks& checks) const {
  check_side(checks, height);
  check_side(checks, width);
}

}  // namespace omnirt::aura_flow
