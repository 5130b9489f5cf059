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

Tensor Autoencoder::moments(Context& cx, const Tensor& image) const {
  return encode(cx, image, nullptr);
}

Tensor Autoencoder::from_moments(Context& /*cx*/, const Tensor& moments,
                                 const NoiseSource& /*noise*/) const {
  return moments;
}

}  // namespace omnirt::nn
