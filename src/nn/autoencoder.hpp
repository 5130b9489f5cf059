#pragma once
#include <functional>
#include <optional>

#include "nn/frame_state.hpp"
#include "nn/latent_grid.hpp"
#include "nn/network.hpp"

namespace omnirt::nn {

// Standard normal noise of a shape, as fp32 on the CPU; tensor/generator.hpp's Noise::randn is one.
using NoiseSource = std::function<Tensor(at::IntArrayRef shape)>;

// What an encoder returns: a normal distribution for each value of the latents. {B, C, h, w} each.
struct DiagonalGaussian {
  Tensor mean;
  Tensor logvar;  // as the network returns it; limited to -30..20 where it is used

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

  // encode in two parts, for images whose parts are joined before a sample is drawn: what the
  // latents follow from, {B, n, h, w}, and the latents of it. Here: the latents, where none is
  // drawn.
  virtual Tensor moments(Context& cx, const Tensor& image) const;
  virtual Tensor from_moments(Context& cx, const Tensor& moments, const NoiseSource& noise) const;
  // One chunk of a video, in order, with what the chunks before left in `state`. The first chunk is
  // one latent frame, or one frame of pixels; later ones are whole latent frames. Here: each frame
  // is an image. latents {f, C, h, w} -> frames {F, 3, H, W}, as decode takes and returns them.
  virtual Tensor decode_frames(Context& cx, const Tensor& latents, FrameState& state) const;
  // frames {F, 3, H, W} -> moments {f, n, h, w}.
  virtual Tensor frame_moments(Context& cx, const Tensor& frames, FrameState& state) const;

  // Pixels a side of the tiles in which the reference goes through large images when it is asked to
  // (config.sample_size); nothing: it is not gone through in tiles.
  virtual std::optional<int64_t> tile_size() const { return std::nullopt; }
  // Tiles fade into each other over one of so many parts, and must begin and fade at whole latents:
  // what their sides are multiples of, in pixels, and the largest of these up to tile_size(); 0
  // without one.
  virtual int64_t parts_of_tile() const { return 4; }
  int64_t tile_grid() const { return parts_of_tile() * factors().side; }
  int64_t default_tile_size() const;

  // Whether encode returns a distribution to sample from.
  virtual bool samples() const = 0;
  virtual int64_t latent_channels() const = 0;
  // Of its images: 4 where they have an alpha channel, also in -1..1.
  virtual int64_t image_channels() const { return 3; }
  // As the reference's pipelines compute them: 2^(levels - 1) pixels a side.
  virtual LatentFactors factors() const = 0;
  // The latents of images, or videos, of these pixels.
  LatentGrid grid(int64_t width, int64_t height, size_t batch = 1, int64_t frames = 1) const;
  // Latents as a denoiser sees them are (encode(x) - shift_factor) * scaling_factor.
  virtual double scaling_factor() const = 0;
  virtual double shift_factor() const = 0;
  // The config asks for fp32 whatever the pipeline's dtype.
  virtual bool force_upcast() const = 0;

 protected:
  using Network::Network;
};

}  // namespace omnirt::nn
