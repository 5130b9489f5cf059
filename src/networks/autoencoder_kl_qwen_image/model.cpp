#include "networks/autoencoder_kl_qwen_image/model.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "networks/autoencoder_kl_qwen_image/original.hpp"

namespace omnirt {

std::vector<nn::OriginalLayout> AutoencoderKLQwenImage::original_layouts() const {
  return {wan_autoencoder_layout(own())};
}

nn::LatentFactors AutoencoderKLQwenImage::factors() const {
  return {.frames = int64_t{1} << std::ranges::count(own().temperal_downsample, true),
          .side = CausalAutoencoder::factors().side};
}

Tensor AutoencoderKLQwenImage::decode_frames(Context& cx, const Tensor& latents,
                                             nn::FrameState& state) const {
  ensure(!state.begins() || latents.size(0) == 1, "a video that begins with {} latent frames",
         latents.size(0));
  return decoder.forward(cx, decoded_from(cx, latents), &state);
}

Tensor AutoencoderKLQwenImage::frame_moments(Context& cx, const Tensor& frames,
                                             nn::FrameState& state) const {
  const int64_t whole = state.begins() ? 1 : factors().frames;
  ensure(frames.size(0) % whole == 0 && (!state.begins() || frames.size(0) == 1),
         "a chunk of {} frames, of which {} make a latent frame", frames.size(0), whole);
  return quant_conv.forward(cx, encoder.forward(cx, nn::in_form(cx, frames), &state));
}

const nn::NetworkInfo& autoencoder_kl_qwen_image_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderKLQwenImage",
      .make = nn::network_of<AutoencoderKLQwenImage, read_autoencoder_kl_qwen_image_config>,
      .summary = "the variational autoencoder of Qwen-Image",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
      .from_tensors = {.signs = "Qwen-Image's or Wan 2.1's autoencoder (encoder.downsamples.*, "
                                "decoder.upsamples.*)",
                       .config = wan_autoencoder_config,
                       .layout = [](const auto&) { return std::string("wan"); }},
  };
  return info;
}

}  // namespace omnirt
