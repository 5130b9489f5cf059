#include "families/flux3/sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "blocks/image_size.hpp"

namespace omnirt::flux3 {
namespace {

constexpr int64_t most_canvas_pixels = 4 * 1024 * 1024;
constexpr int64_t grid_of_processor = 16;
constexpr int64_t least_side = 64, most_side = 4096;
// By how much the scale is taken back where the canvas, rounded up, is still too large.
constexpr double step_back = 0.995;
// As many as the prompt upsampler of the reference takes.
constexpr size_t most_references = 10;

int64_t canvas_side(int64_t side, int64_t grid) {
  return std::clamp((side + grid - 1) / grid * grid, least_side, most_side);
}

// Rounded as Python does, halves to even.
int64_t scaled_side(int64_t side, double scale) {
  return std::max<int64_t>(1, std::llrint(static_cast<double>(side) * scale));
}

double area(Size size) {
  return static_cast<double>(size.height) * static_cast<double>(size.width);
}

void refuse_image(Checks& checks, const std::string& field, Size size, const std::string& why) {
  checks.error({field, fmt::format("{}x{}", size.width, size.height), why, "give another image"});
}

}  // namespace

io::Region Placed::region() const {
  return {.x = (canvas.width - image.width) / 2,
          .y = (canvas.height - image.height) / 2,
          .width = image.width,
          .height = image.height};
}

int64_t image_grid(int64_t pixels_of_latent) {
  return std::lcm(grid_of_processor, pixels_of_latent);
}

Placed placed(Size size, int64_t grid) {
  const auto longer = static_cast<double>(std::max(size.height, size.width));
  double scale = std::min({1.0, std::sqrt(static_cast<double>(most_canvas_pixels) / area(size)),
                           static_cast<double>(most_side) / longer});
  for (;; scale *= step_back) {
    const Size image{scaled_side(size.height, scale), scaled_side(size.width, scale)};
    const Size canvas{canvas_side(image.height, grid), canvas_side(image.width, grid)};
    if (canvas.height * canvas.width <= most_canvas_pixels) return {image, canvas};
  }
}

std::optional<Size> ImageSize::of_reference(Checks& checks, int64_t grid) const {
  const ImageInput* given = checks.image(image);
  if (!given) return std::nullopt;
  const std::vector<ImageInput>& more = checks.images(references);
  const Size first{given->info.height, given->info.width};
  if (more.empty()) return placed(first, grid).canvas;
  if (more.size() >= most_references) {
    checks.error({"inputs.image_reference", fmt::format("{} images", more.size()),
                  fmt::format("more than {} images to go by", most_references),
                  fmt::format("give at most {} next to inputs.image", most_references - 1)});
  }
  bool fit = true;
  auto check = [&](const std::string& field, Size size) {
    const Size whole = in_whole_latents(size, grid);
    if (std::min(whole.height, whole.width) > 0) return;
    fit = false;
    refuse_image(checks, field, size,
                 fmt::format("its sides are cut to multiples of {} pixels", grid));
  };
  check("inputs.image", first);
  for (size_t i = 0; i < more.size(); ++i)
    check(fmt::format("inputs.image_reference[{}]", i), {more[i].info.height, more[i].info.width});
  if (!fit) return std::nullopt;
  return in_whole_latents(first, grid);
}

void ImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

void ImageSize::check(Checks& checks) const {
  const int64_t grid = checks[vae].factors().side;
  const std::optional<Size> size = of_reference(checks, image_grid(grid));
  auto settle = [&](const Config<int64_t>& port, int64_t side) {
    if (auto given = checks.maybe(port))
      blocks::check_grid(checks, port, *given, grid);
    else if (size)
      checks.settle(port, side, Origin::derived);
  };
  settle(width, size ? size->width : 0);
  settle(height, size ? size->height : 0);
}

}  // namespace omnirt::flux3
