#include "families/z_image/sizes.hpp"

#include <fmt/format.h>

#include "blocks/image_size.hpp"

namespace omnirt::z_image {
namespace {

constexpr int64_t usual_side = 1024;

}  // namespace

void ImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void ImageSize::check_positions(Checks& checks, const Config<int64_t>& side, size_t axis,
                                int64_t grid) const {
  auto pixels = checks.maybe(side);
  int64_t most = checks[transformer].axes_lens()[axis] * grid;
  if (!pixels || *pixels <= most) return;
  checks.error({"config." + side.name(), std::to_string(*pixels),
                fmt::format("the transformer has positions for {} pixels", most),
                fmt::format("give at most {}", most)});
}

void ImageSize::check(Checks& checks) const {
  int64_t grid = checks[vae].factors().side * checks[transformer].patch_size();
  const ImageInput* given = checks.image(image);
  if (given) blocks::settle_from_image(checks, width, height, image.name(), given->info, grid);
  for (const Config<int64_t>* side : {&width, &height}) {
    if (given) continue;
    if (auto pixels = checks.maybe(*side))
      blocks::check_grid(checks, *side, *pixels, grid);
    else
      checks.settle(*side, usual_side, Origin::model);
  }
  check_positions(checks, height, 1, grid);
  check_positions(checks, width, 2, grid);
}

}  // namespace omnirt::z_image
