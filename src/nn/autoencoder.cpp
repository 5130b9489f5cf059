#include "nn/autoencoder.hpp"

#include <algorithm>

namespace omnirt::nn {

Tensor DiagonalGaussian::sample(Context& cx, const Tensor& noise) const {
  Tensor cast = noise.to(mean.options());
  return cx.ops().gaussian_sample(cx, {mean, logvar, cast});
}

int64_t Autoencoder::default_tile_size() const {
  auto side = tile_size();
  return side ? std::max(tile_grid(), *side / tile_grid() * tile_grid()) : 0;
}

LatentGrid Autoencoder::grid(int64_t width, int64_t height, size_t batch, int64_t frames) const {
  const LatentFactors of_one = factors();
  return {.batch = static_cast<int64_t>(batch),
          .frames = (frames - 1) / of_one.frames + 1,
          .channels = latent_channels(),
          .height = height / of_one.side,
          .width = width / of_one.side};
}

Tensor Autoencoder::decode_frames(Context& cx, const Tensor& latents, FrameState& /*state*/) const {
  return decode(cx, latents);
}

Tensor Autoencoder::frame_moments(Context& cx, const Tensor& frames, FrameState& /*state*/) const {
  return moments(cx, frames);
}

Tensor Autoencoder::moments(Context& cx, const Tensor& image) const {
  return encode(cx, image, nullptr);
}

Tensor Autoencoder::from_moments(Context& /*cx*/, const Tensor& moments,
                                 const NoiseSource& /*noise*/) const {
  return moments;
}

}  // namespace omnirt::nn
