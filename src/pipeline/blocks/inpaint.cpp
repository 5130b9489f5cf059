#include "pipeline/blocks/inpaint.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_nearest2d.h>
#include <fmt/format.h>

#include "io/image_resize.hpp"
#include "pipeline/blocks/image_tensor.hpp"
#include "pipeline/proposal.hpp"

namespace omnirt::blocks {

void PrepareMask::check(Proposal& proposal) const {
  auto image_given = proposal.images.find("image"), mask_given = proposal.images.find("mask");
  if (image_given == proposal.images.end() || mask_given == proposal.images.end()) return;
  const io::ImageInfo &a = image_given->second.info, &b = mask_given->second.info;
  if (a.width == b.width && a.height == b.height) return;
  proposal.error({"inputs.mask", fmt::format("{}x{}", b.width, b.height),
                  fmt::format("another size than the image's {}x{}", a.width, a.height),
                  "give a mask of the image's size"});
}

void PrepareMask::run(Frame& frame) const {
  io::Image rgb = io::to_rgb(frame[mask]);
  if (rgb.width != frame[width] || rgb.height != frame[height]) {
    rgb = io::resize_lanczos(rgb, frame[width], frame[height]);
  }
  Tensor grey = image_to_tensor(io::to_grey(rgb));
  frame[mask_pixels] = (grey >= 0.5).to(at::kFloat);
  int64_t grid = frame[vae].scale_factor();
  frame[mask_latents] =
      at::upsample_nearest2d(frame[mask_pixels], {frame[height] / grid, frame[width] / grid});
}

void EncodeMaskedImage::run(Frame& frame) const {
  Tensor picture = picture_tensor(frame[image], frame[width], frame[height]);
  Tensor masked = picture * (frame[mask_pixels] < 0.5).to(at::kFloat);
  auto pictures = static_cast<int64_t>(frame[seeds].size());
  Tensor encoded = sampled_latents(frame, vae, masked, pictures, *frame[noise_source]);
  Tensor mask_of_each = frame[mask_latents].expand({pictures, 1, encoded.size(2), encoded.size(3)});
  frame[extra_channels] = at::cat({mask_of_each, encoded}, 1);
}

void KeepUnmasked::run(Frame& frame) const {
  if (frame[vae].samples()) frame[noise_source]->randn(frame[noise].sizes());
  frame[keep_mask] = frame[mask_latents];
}

}  // namespace omnirt::blocks
