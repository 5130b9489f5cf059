#include "networks/autoencoder_kl_qwen_image21/model.hpp"

namespace omnirt {

const nn::NetworkInfo& autoencoder_kl_qwen_image21_info() {
  static const nn::NetworkInfo info{
      .class_name = "AutoencoderKLQwenImage21",
      .make = nn::network_of<AutoencoderKLQwenImage21, read_autoencoder_kl_qwen_image21_config>,
      .summary = "the variational autoencoder of Qwen-Image 2.1, of images with an alpha channel",
      .weights_base = "diffusion_pytorch_model",
      .role = "autoencoder",
  };
  return info;
}

}  // namespace omnirt
