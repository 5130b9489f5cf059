#include "pipeline/blocks/latents.hpp"

#include <ATen/ops/cat.h>

#include "io/image_resize.hpp"
#include "pipeline/blocks/image_tensor.hpp"

namespace omnirt::blocks {

Tensor picture_tensor(const io::Image& image, int64_t width, int64_t height) {
  io::Image rgb = io::to_rgb(image);
  if (rgb.width != width || rgb.height != height) rgb = io::resize_lanczos(rgb, width, height);
  return image_to_tensor(rgb) * 2.0 - 1.0;
}

Tensor sampled_latents(const nn::Autoencoder& vae, Context& cx, const Tensor& picture,
                       int64_t count, Noise& noise) {
  // Encoded once; each picture of the run has a sample of its own.
  auto draw = [&](at::IntArrayRef shape) {
    std::vector<int64_t> of_all = shape.vec();
    of_all[0] = count;
    return noise.randn(of_all);
  };
  Tensor sample = vae.encode(cx, picture.to(cx.dtype()), draw).to(at::kFloat);
  std::vector<int64_t> shape = sample.sizes().vec();
  shape[0] = count;
  return (sample.expand(shape) - vae.shift_factor()) * vae.scaling_factor();
}

void EncodeImage::run(Frame& frame) const {
  Tensor picture = picture_tensor(frame[image], frame[width], frame[height]);
  Context cx = frame.context(vae);
  frame[image_latents] = sampled_latents(
      frame[vae], cx, picture, static_cast<int64_t>(frame[seeds].size()), *frame[noise_source]);
}

void EncodeImageBelowFullStrength::run(Frame& frame) const {
  frame[image_latents] = Tensor();
  if (frame[strength] == 1.0) return;
  Tensor picture = picture_tensor(frame[image], frame[width], frame[height]);
  Context cx = frame.context(vae);
  frame[image_latents] = sampled_latents(
      frame[vae], cx, picture, static_cast<int64_t>(frame[seeds].size()), *frame[noise_source]);
}

std::vector<int64_t> latent_shape(const nn::Autoencoder& vae, size_t pictures, int64_t width,
                                  int64_t height) {
  int64_t grid = vae.scale_factor();
  return {static_cast<int64_t>(pictures), vae.latent_channels(), height / grid, width / grid};
}

void PrepareLatents::run(Frame& frame) const {
  auto shape = latent_shape(frame[vae], frame[seeds].size(), frame[width], frame[height]);
  frame[noise] = frame[noise_source]->randn(shape);
  frame[latents] = frame[noise] * frame[schedule].scheduler->init_noise_sigma();
}

void NoiseImageLatents::run(Frame& frame) const {
  const Schedule& walk = frame[schedule];
  auto shape = latent_shape(frame[vae], frame[seeds].size(), frame[width], frame[height]);
  frame[noise] = frame[noise_source]->randn(shape);
  bool alone = noise_alone_at_full_strength_ && frame[strength] == 1.0;
  frame[latents] = alone
                       ? frame[noise] * walk.scheduler->init_noise_sigma()
                       : walk.scheduler->add_noise(frame[image_latents], frame[noise], walk.begin);
}

void DecodeLatents::run(Frame& frame) const {
  const nn::Autoencoder& autoencoder = frame[vae];
  const Tensor& sample = frame[latents];
  std::vector<Tensor> decoded;
  std::vector<io::Image> made;
  // One at a time: decoding needs far more memory a picture than anything before it.
  for (int64_t i = 0; i < sample.size(0); ++i) {
    Context cx = frame.context(vae);
    Tensor latents_of_one =
        sample.narrow(0, i, 1) / autoencoder.scaling_factor() + autoencoder.shift_factor();
    decoded.push_back(autoencoder.decode(cx, latents_of_one.to(cx.dtype())).to(at::kFloat));
    made.push_back(tensor_to_image(decoded.back(), 0));
  }
  frame[pictures] = at::cat(decoded);
  frame[images] = std::move(made);
}

}  // namespace omnirt::blocks
