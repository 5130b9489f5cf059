#include "families/flux2/references.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/upsample_bilinear2d.h>
#include <ATen/ops/zeros.h>

#include "blocks/latents.hpp"
#include "families/flux2/sizes.hpp"

namespace omnirt::flux2 {
namespace {

// Between the times of two images; the one that is made is at 0.
constexpr int64_t time_scale = 10;

io::Image within_limits(const io::Image& image) {
  return blocks::resized(image, limited({image.height, image.width}));
}

// Appends the latents {1, C, h, w} of each.
void encode(Frame& frame, const Component<nn::Autoencoder>& vae, const blocks::TilingPorts& tiling,
            Noise& noise, const std::vector<io::Image>& images, std::vector<Tensor>& latents) {
  for (const io::Image& image : images) {
    Tensor pixels = blocks::middle_of(image, frame[vae].factors().side);
    latents.push_back(blocks::sampled_latents(frame, vae, tiling, pixels, 1, noise));
  }
}

// {1, N, 4}: the tokens' positions.
Tensor ids_of(const std::vector<Tensor>& latents) {
  std::vector<Tensor> ids;
  for (const Tensor& each : latents) {
    const auto [height, width] = nn::LatentGrid::of(each).sides();
    Tensor made = at::zeros({height, width, 4}, at::kFloat);
    made.select(2, 0).fill_(time_scale * static_cast<int64_t>(ids.size() + 1));
    made.select(2, 1).copy_(at::arange(height, at::kFloat).unsqueeze(1));
    made.select(2, 2).copy_(at::arange(width, at::kFloat).unsqueeze(0));
    ids.push_back(made.view({1, height * width, 4}));
  }
  return at::cat(ids, 1);
}

}  // namespace

EncodeReferences::EncodeReferences(References kind, Trigger trigger)
    : Block(kind == References::kept ? "encode_kept_references" : "encode_references",
            Stage::prepare_latents, Guidance::shared, std::move(trigger)),
      latents(this, kind == References::kept ? kept_reference_latents : reference_latents),
      ids(this, kind == References::kept ? kept_reference_ids : reference_ids) {}

void EncodeReferences::run(Frame& frame) const {
  std::vector<Tensor> all;
  Noise& noise = *frame[noise_source];
  encode(frame, vae, tiling, noise, {frame[image]}, all);
  if (const auto* more = frame[further]) encode(frame, vae, tiling, noise, *more, all);
  frame[latents] = blocks::tokens_of(all);
  frame[ids] = ids_of(all);
}

void EncodeRepainted::run(Frame& frame) const {
  Tensor pixels = blocks::image_tensor(within_limits(frame[image]), frame[width], frame[height]);
  frame[image_latents] = blocks::sampled_latents(
      frame, vae, tiling, pixels, static_cast<int64_t>(frame[seeds].size()), *frame[noise_source]);
}

void EncodeRepaintReferences::run(Frame& frame) const {
  std::vector<Tensor> all{frame[image_latents].narrow(0, 0, 1)};
  if (const auto* more = frame[further])
    encode(frame, vae, tiling, *frame[noise_source], *more, all);
  frame[latents] = blocks::tokens_of(all);
  frame[ids] = ids_of(all);
}

void KeepSmoothly::run(Frame& frame) const {
  const Tensor& mask = frame[mask_pixels];
  const auto of = nn::LatentGrid::of(mask);
  frame[keep_mask] = at::upsample_bilinear2d(mask, frame[vae].grid(of.width, of.height).sides(),
                                             /*align_corners=*/false);
}

}  // namespace omnirt::flux2
