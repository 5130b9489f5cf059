#include "networks/autoencoder_kl_qwen_image/model.hpp"

#include "networks/autoencoder_kl_qwen_image/original.hpp"

namespace omnirt {

std::vector<nn::OriginalLayout> AutoencoderKLQwenImage::original_layouts() const {
  return {wan_autoencoder_layout(own())};
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
