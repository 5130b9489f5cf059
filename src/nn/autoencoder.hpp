#pragma once
#include <functional>

#include "nn/network.hpp"

namespace omnirt::nn {

// Standard normal noise of a shape, as fp32 on the CPU; tensor/generator.hpp's Noise::randn is one.
using NoiseSource = std::function<Tensor(at::IntArrayRef shape)>;

// What an encoder gives: a normal distribution for each value of the latents. {B, C, h, w} each.
struct DiagonalGaussian {
  Tensor mean;
  Tensor logvar;  // as the network gives it; limited to -30..20 where it is used

  const Tensor& mode() const { return mean; }
  // One draw; `noise` is standard normal, of mean's shape.
  Tensor sample(Context& cx, const Tensor& noise) const;
};

// A network between images and the latents that a denoiser works on.
class Autoencoder : public Network {
 public:
  // The image of latents that are divided by scaling_factor (and shifted) already: {B, C, h, w}
  // -> {B, 3, h * scale, w * scale}, values about -1..1, not clamped.
  virtual Tensor decode(Context& cx, const Tensor& latents) const = 0;
  // The latents of an image in -1..1, not yet scaled; noise is drawn, once and of the latents'
  // shape, by autoencoders whose latents are a distribution.
  virtual Tensor encode(Context& cx, const Tensor& image, const NoiseSource& noise) const = 0;

  // Whether encode gives a distribution to sample from.
  virtual bool samples() const = 0;
  virtual int64_t latent_channels() const = 0;
  // Pixels a latent in height and width, as the reference's pipelines reckon it: 2^(levels - 1).
  virtual int64_t scale_factor() const = 0;
  // Latents as a denoiser sees them are (encode(x) - shift_factor) * scaling_factor.
  virtual double scaling_factor() const = 0;
  virtual double shift_factor() const = 0;
  // The config asks for fp32 whatever the pipeline's dtype.
  virtual bool force_upcast() const = 0;

 protected:
  using Network::Network;
};

}  // namespace omnirt::nn
