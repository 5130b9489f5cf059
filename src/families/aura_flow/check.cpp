#include "families/aura_flow/check.hpp"

#include <fmt/format.h>

#include "blocks/image_size.hpp"

namespace omnirt::aura_flow {
namespace {

constexpr int64_t usual_side = 1024;

}  // namespace

void CheckParts::check(Checks& checks) const {
  const int64_t latents = checks[vae].latent_channels();
  auto fits = [&](const char* name, int64_t channels) {
    if (channels == latents) return true;
    checks.error({std::string("transformer.") + name, std::to_string(channels),
                  fmt::format("the autoencoder's latents have {} channels", latents),
                  "use the autoencoder of the same model"});
    return false;
  };
  if (fits("in_channels", checks[transformer].in_channels()))
    fits("out_channels", checks[transformer].out_channels());
}

void ImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void ImageSize::check_side(Checks& checks, const Config<int64_t>& side) const {
  const int64_t token = checks[vae].scale_factor() * checks[transformer].patch_size();
  auto pixels = checks.maybe(side);
  if (pixels)
    blocks::check_grid(checks, side, *pixels, token);
  else
    checks.settle(side, usual_side, Origin::model);
  const int64_t most = checks[transformer].positions_side() * token;
  if (pixels.value_or(usual_side) <= most) return;
  checks.error({"config." + side.name(), std::to_string(pixels.value_or(usual_side)),
                fmt::format("the transformer has positions for {} pixels", most),
                fmt::format("give at most {}", most)});
}

void ImageSize::check(Checks& checks) const {
  check_side(checks, height);
  check_side(checks, width);
}

}  // namespace omnirt::aura_flow
