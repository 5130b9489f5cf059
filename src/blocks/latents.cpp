#include "blocks/latents.hpp"

#include <ATen/ops/cat.h>

#include "blocks/given_latents.hpp"
#include "io/image_resize.hpp"
#include "pipeline/checks.hpp"
#include "tensor/image_tensor.hpp"

namespace omnirt::blocks {

Tensor image_tensor(const io::Image& image, int64_t width, int64_t height) {
  io::Image rgb = io::to_rgb(image);
  if (rgb.width != width || rgb.height != height) rgb = io::resize_lanczos(rgb, width, height);
  return image_to_tensor(rgb) * 2.0 - 1.0;
}

namespace {

Tensor encoded_whole(Frame& frame, const Component<nn::Autoencoder>& vae, const Tensor& pixels,
                     const Tensor& noise) {
  Values inputs{{"pixels", {pixels}}};
  if (noise.defined()) inputs["noise"] = {noise};
  return host(frame.call(
      vae, inputs,
      [](const nn::Autoencoder& network, Context& cx, const Values& in) {
        return network.encode(cx, one(in, "pixels").to(cx.dtype()),
                              [&](at::IntArrayRef) { return one(in, "noise"); });
      },
      "encode"));
}

// The moments of the tiles are joined, as the reference does, and then sampled.
Tensor encoded_in_tiles(Frame& frame, const Component<nn::Autoencoder>& vae,
                        const AutoencoderTiles& tiles, const Tensor& pixels, const Tensor& noise) {
  auto moments_of = [](const nn::Autoencoder& network, Context& cx, const Values& in) {
    return network.moments(cx, one(in, "pixels").to(cx.dtype()));
  };
  Tensor moments = encoded_by_tiles(pixels, tiles, [&](const Tensor& tile) {
    return host(frame.call(vae, {{"pixels", {tile}}}, moments_of, "moments")).to(at::kFloat);
  });
  Values inputs{{"moments", {moments}}};
  if (noise.defined()) inputs["noise"] = {noise};
  return host(frame.call(
      vae, inputs,
      [](const nn::Autoencoder& network, Context& cx, const Values& in) {
        return network.from_moments(cx, one(in, "moments").to(cx.dtype()),
                                    [&](at::IntArrayRef) { return one(in, "noise"); });
      },
      "from_moments"));
}

}  // namespace

Tensor encoded_image(Frame& frame, const Component<nn::Autoencoder>& vae, const TilingPorts& tiling,
                     const Tensor& pixels, const Tensor& noise) {
  const nn::Autoencoder& autoencoder = frame[vae];
  const AutoencoderTiles tiles = tiling.of(frame, autoencoder);
  Tensor sample = tiles.cut(pixels) ? encoded_in_tiles(frame, vae, tiles, pixels, noise)
                                    : encoded_whole(frame, vae, pixels, noise);
  return (sample.to(at::kFloat) - autoencoder.shift_factor()) * autoencoder.scaling_factor();
}

Tensor sampled_latents(Frame& frame, const Component<nn::Autoencoder>& vae,
                       const TilingPorts& tiling, const Tensor& pixels, int64_t count,
                       Noise& noise) {
  const nn::Autoencoder& autoencoder = frame[vae];
  // Drawn before the call, which may be made more than once. The image is encoded once; each
  // image of the run has a sample of its own.
  Tensor drawn;
  if (autoencoder.samples()) {
    const auto of = nn::LatentGrid::of(pixels);
    drawn = noise.randn(autoencoder.grid(of.width, of.height, static_cast<size_t>(count)).images());
  }
  Tensor sample = encoded_image(frame, vae, tiling, pixels, drawn);
  std::vector<int64_t> shape = sample.sizes().vec();
  shape[0] = count;
  return sample.expand(shape).contiguous();
}

void EncodeImage::run(Frame& frame) const {
  Tensor pixels = image_tensor(frame[image], frame[width], frame[height]);
  frame[image_latents] = sampled_latents(
      frame, vae, tiling, pixels, static_cast<int64_t>(frame[seeds].size()), *frame[noise_source]);
}

void EncodeImageBelowFullStrength::run(Frame& frame) const {
  frame[image_latents] = Tensor();
  if (frame[strength] != 1.0) EncodeImage::run(frame);
}

void PrepareLatents::run(Frame& frame) const {
  auto shape = frame[vae].grid(frame[width], frame[height], frame[seeds].size()).images();
  frame[noise] = initial_noise(frame[given_noise], *frame[noise_source], shape);
  frame[latents] = frame[noise] * frame[schedule].scheduler->init_noise_sigma();
}

void NoiseImageLatents::check_loaded(Checks& checks) const {
  if (noise_alone_at_full_strength_ && checks[strength] == 1.0) return;
  for (const Tensor* latents_of_image : checks.restored(image_latents)) {
    if (latents_of_image && !latents_of_image->defined())
      checks.refuse_restored(image_latents, "is left out, and this run starts from it");
  }
}

void NoiseImageLatents::run(Frame& frame) const {
  const Schedule& walk = frame[schedule];
  // The image's own, where it is made at another size than was asked for.
  auto shape = frame[image_latents].defined()
                   ? frame[image_latents].sizes().vec()
                   : frame[vae].grid(frame[width], frame[height], frame[seeds].size()).images();
  frame[noise] = frame[noise_source]->randn(shape);
  bool alone = noise_alone_at_full_strength_ && frame[strength] == 1.0;
  frame[latents] = alone
                       ? frame[noise] * walk.scheduler->init_noise_sigma()
                       : walk.scheduler->add_noise(frame[image_latents], frame[noise], walk.begin);
}

Tensor decoded_image(Frame& frame, const Component<nn::Autoencoder>& vae, const TilingPorts& tiling,
                     const Tensor& latents) {
  const nn::Autoencoder& autoencoder = frame[vae];
  auto decode = [](const nn::Autoencoder& network, Context& cx, const Values& in) {
    return network.decode(cx, one(in, "latents").to(cx.dtype()));
  };
  Tensor unscaled = latents / autoencoder.scaling_factor() + autoencoder.shift_factor();
  return decoded_by_tiles(
      unscaled, autoencoder, tiling.of(frame, autoencoder), [&](const Tensor& tile) {
        return host(frame.call(vae, {{"latents", {tile}}}, decode, "decode")).to(at::kFloat);
      });
}

Tensor DecodeLatents::decoded(Frame& frame, const Tensor& latents_of_one) const {
  return decoded_image(frame, vae, tiling, latents_of_one);
}

void DecodeLatents::run(Frame& frame) const {
  const Tensor& sample = frame[latents];
  std::vector<Tensor> all;
  std::vector<io::Image> made;
  // One at a time: decoding needs far more memory per image than anything before it.
  for (int64_t i = 0; i < sample.size(0); ++i) {
    Tensor image = decoded(frame, sample.narrow(0, i, 1));
    frame.check_finite(image, decoded_images.name() + " of the block " + name());
    made.push_back(tensor_to_image(image, 0));
    if (frame.is_read(decoded_images)) all.push_back(std::move(image));
  }
  if (frame.is_read(decoded_images)) frame[decoded_images] = at::cat(all);
  frame[images] = std::move(made);
}

}  // namespace omnirt::blocks
