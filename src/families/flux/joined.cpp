#include "families/flux/joined.hpp"

#include <ATen/ops/cat.h>

#include "blocks/latents.hpp"
#include "nn/denoiser_network.hpp"
#include "nn/patches.hpp"

namespace omnirt::flux {
namespace {

Trigger takes_channels(int64_t (*wanted)(const nn::Autoencoder&), std::string text) {
  return {[wanted](const Facts& facts) {
            const auto* network = facts.network<nn::DenoiserNetwork>("transformer");
            const auto* vae = facts.network<nn::Autoencoder>("vae");
            return network && vae && network->in_channels() == wanted(*vae);
          },
          std::move(text),
          {}};
}

}  // namespace

int64_t channels_with_mask(const nn::Autoencoder& vae) {
  const int64_t side = vae.factors().side;
  return 2 * vae.latent_channels() + side * side;
}

int64_t channels_with_control(const nn::Autoencoder& vae) {
  return 2 * vae.latent_channels();
}

Trigger fills_masks() {
  return takes_channels(channels_with_mask, "transformer.in_channels has a mask's");
}

Trigger follows_control() {
  return takes_channels(channels_with_control, "transformer.in_channels has a control image's");
}

void EncodeMasked::run(Frame& frame) const {
  const Tensor& mask = frame[mask_pixels];
  Tensor pixels = blocks::image_tensor(frame[image], frame[width], frame[height]) * (1 - mask);
  auto count = static_cast<int64_t>(frame[seeds].size());
  Tensor encoded = blocks::sampled_latents(frame, vae, tiling, pixels, count, *frame[noise_source]);
  Tensor squares = nn::packed_patches(mask, frame[vae].factors().side);
  Tensor of_each = squares.expand({count, squares.size(1), squares.size(2), squares.size(3)});
  frame[extra_channels] = at::cat({encoded, of_each}, 1);
}

void SkipMaskedImage::run(Frame& frame) const {
  frame[noise_source]->randn(
      frame[vae].grid(frame[width], frame[height], frame[seeds].size()).images());
}

void EncodeControl::run(Frame& frame) const {
  Tensor pixels = blocks::image_tensor(frame[control_image], frame[width], frame[height]);
  frame[extra_channels] = blocks::sampled_latents(
      frame, vae, tiling, pixels, static_cast<int64_t>(frame[seeds].size()), *frame[noise_source]);
}

}  // namespace omnirt::flux
