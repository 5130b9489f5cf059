#include "families/flux3/references.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "blocks/latents.hpp"
#include "networks/flux3_transformer_2d_model/model.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::flux3 {
namespace {

// Which pixel of `length` is at `at`, that may be outside: reflections go on, with the edge's pixel
// between two of them once or, where it is `mirrored`, twice.
int64_t reflected(int64_t at, int64_t length, bool mirrored) {
  const int64_t period = mirrored ? 2 * length : std::max<int64_t>(1, 2 * (length - 1));
  const int64_t within = ((at % period) + period) % period;
  return within < length ? within : period - within - (mirrored ? 1 : 0);
}

// {1, 3, H, W} in -1..1.
Tensor whole(const io::Image& image, int64_t grid) {
  const Placed at = placed({image.height, image.width}, grid);
  const io::Image made = reflected_to(blocks::resized(image, at.image), at.canvas, grid);
  return (image_to_tensor(made) * 2.0 - 1.0).contiguous();
}

// {1, N, 4}: the first image is at -1, further ones before it.
Tensor ids_of(const std::vector<Tensor>& latents) {
  constexpr double scale = Flux3Transformer2DModel::image_rope_scale;
  std::vector<Tensor> ids;
  for (const Tensor& each : latents) {
    const auto [height, width] = nn::LatentGrid::of(each).sides();
    Tensor made = at::zeros({height, width, 4}, at::kFloat);
    made.select(2, 1).copy_((at::arange(height, at::kFloat) * scale).unsqueeze(1));
    made.select(2, 2).copy_((at::arange(width, at::kFloat) * scale).unsqueeze(0));
    made.select(2, 3).fill_(-static_cast<int64_t>(ids.size() + 1));
    ids.push_back(made.view({1, height * width, 4}));
  }
  return at::cat(ids, 1);
}

}  // namespace

io::Image reflected_to(const io::Image& image, Size size, int64_t grid) {
  const bool mirrored = std::min(image.height, image.width) <= grid;
  const int64_t top = (size.height - image.height) / 2, left = (size.width - image.width) / 2;
  io::Image made = io::Image::zeros(size.width, size.height, image.channels);
  for (int64_t y = 0; y < size.height; ++y) {
    const uint8_t* from = image.row(reflected(y - top, image.height, mirrored));
    for (int64_t x = 0; x < size.width; ++x)
      std::copy_n(from + reflected(x - left, image.width, mirrored) * image.channels,
                  image.channels, made.row(y) + x * image.channels);
  }
  return made;
}

void EncodeReferences::run(Frame& frame) const {
  const int64_t grid = image_grid(frame[vae].factors().side);
  const auto* more = frame[further];
  const bool several = more && !more->empty();
  std::vector<Tensor> all;
  auto encode = [&](const Tensor& pixels) {
    all.push_back(blocks::sampled_latents(frame, vae, tiling, pixels, 1, *frame[noise_source]));
  };
  encode(several ? blocks::middle_of(frame[image], grid) : whole(frame[image], grid));
  if (several)
    for (const io::Image& each : *more) encode(blocks::middle_of(each, grid));
  frame[latents] = blocks::tokens_of(all);
  frame[ids] = ids_of(all);
}

void CropToReference::run(Frame& frame) const {
  const auto* more = frame[further];
  if (more && !more->empty()) return;
  const io::Image& given = frame[image];
  const int64_t grid = image_grid(frame[vae].factors().side);
  const io::Region region = placed({given.height, given.width}, grid).region();
  for (io::Image& each : frame[images]) each = io::crop(each, region);
}

}  // namespace omnirt::flux3
