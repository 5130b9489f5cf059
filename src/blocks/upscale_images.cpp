#include "blocks/upscale_images.hpp"

#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "blocks/tiles.hpp"
#include "io/image_resize.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {
namespace {

constexpr int most_passes = 3;
// Of tiles and of what they overlap, so that each network takes them.
constexpr int64_t grid = 4;

int64_t round_up(int64_t size, int64_t to) {
  return (size + to - 1) / to * to;
}

void check_size(const ImageSize& size) {
  const io::ImageLimits limits;
  bool fits = size.width <= limits.max_side && size.height <= limits.max_side &&
              size.width * size.height <= limits.max_pixels;
  if (fits) return;
  throw InvalidRequest({"config.upscale", fmt::format("{}x{}", size.width, size.height),
                        fmt::format("larger than an image may be on the way: {} pixels a side, {} "
                                    "in all",
                                    limits.max_side, limits.max_pixels),
                        "give a smaller image, a smaller factor, or an upscaler with a smaller "
                        "one"});
}

// Mirrored beyond the right and lower edges to sides that the network takes (as spandrel's
// pad_to_multiple does it).
io::Image padded(const io::Image& image, int64_t multiple) {
  int64_t width = round_up(image.width, multiple), height = round_up(image.height, multiple);
  if (width == image.width && height == image.height) return image;
  auto mirrored = [](int64_t at, int64_t size) {
    return at < size ? at : std::max<int64_t>(0, 2 * size - 2 - at);
  };
  io::Image made = io::Image::zeros(width, height, image.channels);
  for (int64_t y = 0; y < height; ++y) {
    const uint8_t* from = image.row(mirrored(y, image.height));
    for (int64_t x = 0; x < width; ++x)
      std::copy_n(from + mirrored(x, image.width) * image.channels, image.channels,
                  made.row(y) + x * image.channels);
  }
  return made;
}

Tensor column_of(const AxisTile& tile) {
  return at::tensor(tile.shares).view({-1, 1});
}

Tensor call(Frame& frame, const Component<nn::Upscaler>& upscaler, const Tensor& tile) {
  Tensor made = host(frame.call(
      upscaler, {{"image", {tile}}},
      [](const nn::Upscaler& network, Context& cx, const Values& in) {
        return network.upscale(cx, one(in, "image"));
      },
      "upscale"));
  return made.to(at::kFloat);
}

}  // namespace

UpscalePlan plan_upscale_to(const ImageSize& from, int64_t scale, const ImageSize& wanted) {
  UpscalePlan plan{.passes = 0, .result = wanted};
  ImageSize now = from;
  do {
    now = {now.width * scale, now.height * scale};
    check_size(now);
    ++plan.passes;
  } while (plan.passes < most_passes && scale > 1 &&
           (now.width < wanted.width || now.height < wanted.height));
  check_size(plan.result);
  return plan;
}

UpscalePlan plan_upscale(const ImageSize& from, int64_t scale, std::optional<double> factor) {
  if (!factor) return plan_upscale_to(from, scale, {from.width * scale, from.height * scale});
  auto times = [&](int64_t side) {
    double wanted = std::round(static_cast<double>(side) * *factor);
    return std::max<int64_t>(1, static_cast<int64_t>(wanted));
  };
  return plan_upscale_to(from, scale, {times(from.width), times(from.height)});
}

io::Image upscaled_once(Frame& frame, const Component<nn::Upscaler>& upscaler,
                        const io::Image& image, const TileSize& size) {
  const int64_t scale = frame[upscaler].scale();
  const io::Image whole = padded(io::to_rgb(image), frame[upscaler].multiple_of());
  const Tensor pixels = image_to_tensor(whole);
  const int64_t tile = size.tile / grid * grid, overlap = size.overlap / grid * grid;
  const auto rows = axis_tiles(whole.height, tile, overlap, scale);
  const auto columns = axis_tiles(whole.width, tile, overlap, scale);
  const int64_t high = std::min(tile, whole.height), wide = std::min(tile, whole.width);
  Tensor made = at::zeros({1, 3, whole.height * scale, whole.width * scale}, at::kFloat);
  for (const AxisTile& row : rows) {
    for (const AxisTile& column : columns) {
      if (frame.cancel()) frame.cancel()->check();
      Tensor part = pixels.narrow(2, row.begin, high).narrow(3, column.begin, wide).contiguous();
      Tensor shares = column_of(row) * column_of(column).t();
      made.narrow(2, row.begin * scale, high * scale)
          .narrow(3, column.begin * scale, wide * scale)
          .add_(call(frame, upscaler, part) * shares);
    }
  }
  made = made.narrow(2, 0, image.height * scale).narrow(3, 0, image.width * scale);
  frame.check_finite(made, "the upscaled image");
  return tensor_to_image(made.mul_(2).sub_(1), 0);
}

io::Image upscaled(Frame& frame, const Component<nn::Upscaler>& upscaler, const io::Image& image,
                   const UpscalePlan& plan, const TileSize& tiles) {
  io::Image made = upscaled_once(frame, upscaler, image, tiles);
  for (int pass = 1; pass < plan.passes; ++pass) made = upscaled_once(frame, upscaler, made, tiles);
  if (ImageSize{made.width, made.height} == plan.result) return made;
  return io::resize_lanczos(made, plan.result.width, plan.result.height);
}

void check_tiles(Checks& checks, const Config<int64_t>& tile, const Config<int64_t>& overlap) {
  if (2 * checks[overlap] < checks[tile] / grid * grid) return;
  checks.error({"config." + overlap.name(), std::to_string(checks[overlap]),
                fmt::format("tiles of {} pixels cannot overlap by half or more", checks[tile]),
                "give a smaller overlap, or larger tiles"});
}

void UpscaleImages::check(Checks& checks) const {
  check_tiles(checks, tile, overlap);
  int64_t scale = checks[upscaler].scale();
  if (auto before = size_before(checks)) plan_upscale(*before, scale, checks.maybe(upscale));
}

void UpscaleImages::run(Frame& frame) const {
  for (io::Image& image : frame[images]) {
    UpscalePlan plan =
        plan_upscale({image.width, image.height}, frame[upscaler].scale(), frame.maybe(upscale));
    image = upscaled(frame, upscaler, image, plan, {frame[tile], frame[overlap]});
  }
}

std::optional<ImageSize> UpscaleMade::size_before(const Checks& checks) const {
  auto wide = checks.maybe(width), high = checks.maybe(height);
  if (!wide || !high) return std::nullopt;
  return ImageSize{*wide, *high};
}

}  // namespace omnirt::blocks
