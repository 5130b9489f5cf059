#include "blocks/inpaint.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/path_text.hpp"
#include "io/image_mask.hpp"
#include "io/image_resize.hpp"
#include "pipeline/checks.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {
namespace {

bool is_repainted(uint8_t grey) {
  return 2 * grey >= 255;
}

void warn_of_mask(Checks& checks, const ImageInput& input) {
  const std::string path = path_text(input.path);
  const io::Image mask = input.given ? *input.given : io::read_image(input.path);
  warn_of_alpha(checks, path, mask);
  if (std::ranges::none_of(io::to_grey(io::painted_mask(mask)).pixels, is_repainted)) {
    checks.warn({"inputs.mask", path, "black everywhere: nothing will be repainted",
                 "paint what is to change in white"});
  }
}

}  // namespace

void PrepareMask::check(Checks& checks) const {
  const ImageInput *of_image = checks.image(image), *of_mask = checks.image(mask);
  if (!of_image || !of_mask) return;
  const io::ImageInfo &a = of_image->info, &b = of_mask->info;
  if (a.width == b.width && a.height == b.height) {
    // The mask of a state was checked when the state was made, and need not be here any more. Where
    // only its part is repainted, CropToMask looks at it.
    if (checks.restored(mask).empty() && !crops_to_mask(checks)) warn_of_mask(checks, *of_mask);
    return;
  }
  checks.error({"inputs.mask", fmt::format("{}x{}", b.width, b.height),
                fmt::format("another size than the image's {}x{}", a.width, a.height),
                fmt::format("resize the mask to {}x{}", a.width, a.height)});
}

void PrepareMask::run(Frame& frame) const {
  io::Image rgb = io::painted_mask(frame[mask]);
  if (rgb.width != frame[width] || rgb.height != frame[height]) {
    rgb = io::resize_lanczos(rgb, frame[width], frame[height]);
  }
  Tensor grey = image_to_tensor(io::to_grey(rgb));
  frame[mask_pixels] = (grey >= 0.5).to(at::kFloat);
  const auto grid = frame[vae].grid(frame[width], frame[height]);
  frame[mask_latents] = at::upsample_nearest2d(frame[mask_pixels], grid.sides());
}

void EncodeMaskedImage::run(Frame& frame) const {
  Tensor pixels = image_tensor(frame[image], frame[width], frame[height]);
  Tensor masked = pixels * (frame[mask_pixels] < 0.5).to(at::kFloat);
  auto count = static_cast<int64_t>(frame[seeds].size());
  Tensor encoded = sampled_latents(frame, vae, tiling, masked, count, *frame[noise_source]);
  auto one_channel = nn::LatentGrid::of(encoded);
  one_channel.channels = 1;
  Tensor mask_of_each = frame[mask_latents].expand(one_channel.images());
  frame[extra_channels] = at::cat({mask_of_each, encoded}, 1);
}

void KeepUnmasked::run(Frame& frame) const {
  if (frame[vae].samples()) frame[noise_source]->randn(frame[noise].sizes());
  frame[keep_mask] = frame[mask_latents];
}

void PutBackUnmasked::after_step(Frame& frame, Walk& walk) const {
  const Tensor &mask = frame[keep_mask], &kept = frame[image_latents];
  Tensor back = walk.index < walk.end
                    ? walk.schedule.scheduler->add_noise(kept, frame[noise], walk.index)
                    : kept;
  walk.latents = (1 - mask) * back + mask * walk.latents;
}

}  // namespace omnirt::blocks
