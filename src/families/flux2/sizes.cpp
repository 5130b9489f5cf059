#include "families/flux2/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/check_reference.hpp"
#include "blocks/image_size.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::flux2 {
namespace {

Size size_of(const io::ImageInfo& info) {
  return {info.height, info.width};
}

// The reference's inpainting takes images of any proportions.
void check_image(Checks& checks, const std::string& field, Size size, int64_t grid) {
  if (checks.task() == "edit" && !blocks::check_proportions(checks, field, size)) return;
  Size whole = in_whole_latents(size, grid);
  if (std::min(whole.height, whole.width) == 0)
    blocks::refuse_reference(checks, field, size,
                             fmt::format("a latent takes {} pixels a side", grid));
}

// A side whose value follows from the image's.
void settle_from_image(Checks& checks, const Config<int64_t>& port, int64_t side, int64_t grid) {
  std::optional<int64_t> given = checks.maybe(port);
  if (!given) {
    checks.settle(port, side, Origin::derived);
  } else if (checks.task() == "edit") {
    blocks::check_grid(checks, port, *given, grid);
  } else if (*given != side) {
    checks.error({"config." + port.name(), std::to_string(*given),
                  fmt::format("an image that is repainted keeps its size, here {}", side),
                  "remove it, or give an image of another size"});
  }
}

}  // namespace

void ImageSize::check_images(Checks& checks, int64_t grid) const {
  if (const ImageInput* given = checks.image(image))
    check_image(checks, "inputs.image", size_of(given->info), grid);
  const std::vector<ImageInput>& list = checks.images(references);
  for (size_t i = 0; i < list.size(); ++i)
    check_image(checks, fmt::format("inputs.image_reference[{}]", i), size_of(list[i].info), grid);
}

void ImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void ImageSize::check(Checks& checks) const {
  int64_t grid = checks[vae].factors().side;
  check_images(checks, grid);
  if (const ImageInput* given = checks.image(image)) {
    Size size = in_whole_latents(size_of(given->info), grid);
    if (std::min(size.height, size.width) == 0) return;  // it was refused
    settle_from_image(checks, width, size.width, grid);
    settle_from_image(checks, height, size.height, grid);
    return;
  }
  for (const Config<int64_t>* port : {&width, &height}) {
    if (auto given = checks.maybe(*port))
      blocks::check_grid(checks, *port, *given, grid);
    else
      blocks::settle_from_model(checks, *port, transformer, 0, grid);
  }
}

}  // namespace omnirt::flux2
