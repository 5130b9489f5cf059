#include "families/lumina2/check.hpp"

#include <fmt/format.h>

#include "blocks/image_size.hpp"

namespace omnirt::lumina2 {

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

void ImageSize::check_side(Checks& checks, const Config<int64_t>& side, size_t axis) const {
  const int64_t latent = checks[vae].scale_factor();
  const int64_t token = latent * checks[transformer].patch_size();
  auto pixels = checks.maybe(side);
  if (!pixels) {
    blocks::settle_from_model(checks, side, transformer, checks[transformer].sample_size()[0],
                              latent);
    return;
  }
  blocks::check_grid(checks, side, *pixels, token);
  const int64_t most = checks[transformer].axes_lens()[axis] * token;
  if (*pixels <= most) return;
  checks.error({"config." + side.name(), std::to_string(*pixels),
                fmt::format("the transformer has positions for {} pixels", most),
                fmt::format("give at most {}", most)});
}

void ImageSize::check(Checks& checks) const {
  check_side(checks, height, 1);
  check_side(checks, width, 2);
}

}  // namespace omnirt::lumina2
