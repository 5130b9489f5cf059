#include "families/flux2/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/image_size.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::flux2 {
namespace {

// Of a reference image (reference: Flux2ImageProcessor.check_image_input).
constexpr int64_t least_side = 64;
constexpr double most_aspect_ratio = 8;

Size size_of(const io::ImageInfo& info) {
  return {info.height, info.width};
}

void refuse_image(Checks& checks, const std::string& field, Size size, const std::string& why) {
  checks.error({field, fmt::format("{}x{}", size.width, size.height), why, "give another image"});
}

// What the reference's edits refuse; its inpainting does not ask. False where it was refused.
bool check_proportions(Checks& checks, const std::string& field, Size size) {
  auto [shorter, longer] = std::minmax(size.height, size.width);
  if (shorter < least_side) {
    refuse_image(checks, field, size,
                 fmt::format("images of less than {} pixels a side are not taken", least_side));
    return false;
  }
  if (static_cast<double>(longer) <= most_aspect_ratio * static_cast<double>(shorter)) return true;
  refuse_image(checks, field, size,
               fmt::format("one side is more than {} times the other", most_aspect_ratio));
  return false;
}

void check_image(Checks& checks, const std::string& field, Size size, int64_t grid) {
  if (checks.task() == "edit" && !check_proportions(checks, field, size)) return;
  Size whole = in_whole_latents(size, grid);
  if (std::min(whole.height, whole.width) == 0)
    refuse_image(checks, field, size, fmt::format("a latent takes {} pixels a side", grid));
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
  int64_t grid = checks[vae].scale_factor();
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
