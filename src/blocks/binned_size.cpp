#include "blocks/binned_size.hpp"

#include <ATen/ops/upsample_bilinear2d.h>
#include <fmt/format.h>

#include <algorithm>

#include "blocks/image_size.hpp"
#include "pipeline/symbol_sizes.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {

// The images' own sides are bound by no symbol: they are made at another size, and fitted.
void BinnedImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  const bool bins = checks[binning] && !sizes_.bins(checks[transformer]).empty();
  const PixelSize made = sizes_.made_at({checks[height], checks[width]}, bins, checks[transformer]);
  const auto latents_of = checks[vae].grid(made.width, made.height);
  sizes.set("H/8", latents_of.height);
  sizes.set("W/8", latents_of.width);
  sizes.set("C", latents_of.channels);
}

void BinnedImageSize::check_grid(Checks& checks, PixelSize made) const {
  const int64_t grid = checks[vae].factors().side * sizes_.patch_size(checks[transformer]);
  for (auto [name, side] : {std::pair{"width", made.width}, {"height", made.height}}) {
    if (side % grid == 0) continue;
    std::string way = checks[binning]
                          ? "set use_resolution_binning to false, and a size that fits"
                          : fmt::format("give {} or {}", std::max(side / grid, int64_t{1}) * grid,
                                        (side / grid + 1) * grid);
    checks.error({fmt::format("config.{}", name), std::to_string(side),
                  fmt::format("not a multiple of {}, the pixels of one patch", grid), way});
  }
}

void BinnedImageSize::settle(Checks& checks, const Config<int64_t>& side) const {
  if (checks.maybe(side)) return;
  if (sizes_.usual_side > 0) {
    checks.settle(side, sizes_.usual_side, Origin::model);
    return;
  }
  settle_from_model(checks, side, transformer, checks[transformer].sample_size()[0],
                    checks[vae].factors().side);
}

void BinnedImageSize::check(Checks& checks) const {
  settle(checks, width);
  settle(checks, height);
  if (!checks.maybe(width) || !checks.maybe(height)) return;
  if (checks[binning] && sizes_.bins(checks[transformer]).empty()) {
    checks.error({"config.use_resolution_binning", "true",
                  fmt::format("there are no sizes to choose from for a transformer of "
                              "sample_size {}",
                              checks[transformer].sample_size()[0]),
                  "set it to false"});
    return;
  }
  check_grid(checks,
             sizes_.made_at({checks[height], checks[width]}, checks[binning], checks[transformer]));
}

std::vector<int64_t> TakeBinnedNoise::wanted(const Checks& checks) const {
  const std::vector<int64_t> shape = TakeNoiseOfImages::wanted(checks);
  const PixelSize size =
      sizes_.made_at({checks[height], checks[width]}, checks[binning], checks[transformer]);
  const auto made = checks[vae].grid(size.width, size.height);
  return {shape[0], shape[1], made.height, made.width};
}

void PrepareBinnedLatents::run(Frame& frame) const {
  const nn::DenoiserNetwork& network = frame[transformer];
  const PixelSize size = sizes_.made_at({frame[height], frame[width]}, frame[binning], network);
  auto grid = frame[vae].grid(size.width, size.height, frame[seeds].size());
  grid.channels = network.in_channels();
  frame[noise] = initial_noise(frame[given_noise], *frame[noise_source], grid.images());
  frame[latents] = frame[noise] * frame[schedule].scheduler->init_noise_sigma();
}

void EncodeBinnedImage::run(Frame& frame) const {
  const PixelSize size =
      sizes_.made_at({frame[height], frame[width]}, frame[binning], frame[transformer]);
  const io::Image& given = frame[image];
  const ImageFit fit = frame[image_fit];
  const Tensor pixels = image_tensor(
      fit == ImageFit::stretch ? given : io::fit_image(given, size.width, size.height, fit),
      size.width, size.height);
  frame[image_latents] = sampled_latents(
      frame, vae, tiling, pixels, static_cast<int64_t>(frame[seeds].size()), *frame[noise_source]);
}

void FitMadeImages::run(Frame& frame) const {
  Tensor& made = frame[decoded_images];
  int64_t high = frame[height], wide = frame[width];
  const auto of = nn::LatentGrid::of(made);
  if (of.height == high && of.width == wide) return;
  double ratio = std::max(static_cast<double>(high) / static_cast<double>(of.height),
                          static_cast<double>(wide) / static_cast<double>(of.width));
  auto resized = [&](int64_t side) {
    return static_cast<int64_t>(static_cast<double>(side) * ratio);
  };
  int64_t tall = resized(of.height), broad = resized(of.width);
  Tensor fitted = at::upsample_bilinear2d(made, {tall, broad}, /*align_corners=*/false);
  made = fitted.slice(2, (tall - high) / 2, (tall - high) / 2 + high)
             .slice(3, (broad - wide) / 2, (broad - wide) / 2 + wide)
             .contiguous();
  for (int64_t i = 0; i < made.size(0); ++i)
    frame[images][static_cast<size_t>(i)] = tensor_to_image(made, i);
}

}  // namespace omnirt::blocks
