#include "networks/autoencoder_kl/ldm_layout.hpp"

#include "networks/autoencoder_kl/model.hpp"
#include "nn/blocks/autoencoder_ldm_rules.hpp"

namespace omnirt {

nn::OriginalLayout ldm_layout(const AutoencoderKL& vae) {
  std::vector<nn::LayoutRule> rules = nn::ldm_autoencoder_rules(vae.encoder, vae.decoder);
  rules.push_back({"quant_conv", "quant_conv"});
  rules.push_back({"post_quant_conv", "post_quant_conv"});
  return {"ldm", std::move(rules), {"loss", "model_ema"}};
}

}  // namespace omnirt
