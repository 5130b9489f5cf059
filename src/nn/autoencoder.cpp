#include "nn/autoencoder.hpp"

namespace omnirt::nn {

Tensor DiagonalGaussian::sample(Context& cx, const Tensor& noise) const {
  Tensor cast = noise.to(mean.options());
  return cx.ops().gaussian_sample(cx, {mean, logvar, cast});
}

}  // namespace omnirt::nn
