#include "blocks/check_unet.hpp"

#include <fmt/format.h>

#include "networks/clip_text_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "nn/denoiser_network.hpp"
#include "request/proposal.hpp"

namespace omnirt::blocks {
namespace {

// Latents, the masked picture's, and the mask.
int64_t channels_with_mask(const nn::Autoencoder& vae) {
  return 2 * vae.latent_channels() + 1;
}

}  // namespace

Trigger has_mask_channels() {
  return {[](const Facts& facts) {
            const auto* unet = facts.network<nn::DenoiserNetwork>("unet");
            const auto* vae = facts.network<nn::Autoencoder>("vae");
            return unet && vae && unet->in_channels() == channels_with_mask(*vae);
          },
          "unet.in_channels == 2 * vae.latent_channels + 1",
          {}};
}

namespace {

// A UNet that predicts a variance beside the noise has twice the channels, and only some schedulers
// read them.
void check_variance(Proposal& proposal, const nn::DenoiserNetwork& unet, int64_t latent) {
  int64_t out = unet.out_channels();
  bool wanted = proposal.scheduler.info && proposal.scheduler.make()->needs_predicted_variance();
  if (out == (wanted ? 2 * latent : latent)) return;
  proposal.error(
      {wanted ? "scheduler.variance_type" : "unet.out_channels", std::to_string(out),
       fmt::format("{} latent channels, and a scheduler that {} a predicted variance, want {}",
                   latent, wanted ? "reads" : "does not read", wanted ? 2 * latent : latent),
       wanted ? "give scheduler_config a fixed variance_type"
              : "use the scheduler that the model came with"});
}

}  // namespace

void CheckUNet::check(Proposal& proposal) const {
  const auto& unet = proposal.network<nn::DenoiserNetwork>("unet");
  const auto& vae = proposal.network<nn::Autoencoder>("vae");
  int64_t unet_in = unet.in_channels(), latent = vae.latent_channels();
  bool masked = unet_in == channels_with_mask(vae);
  check_variance(proposal, unet, latent);
  if (masked && proposal.task != "inpaint") {
    proposal.error(
        {"task", proposal.task,
         fmt::format("this checkpoint is made for inpainting: its UNet takes {} channels", unet_in),
         "give inputs.image and inputs.mask"});
  } else if (!masked && unet_in != latent) {
    proposal.error({"unet.in_channels", std::to_string(unet_in),
                    fmt::format("the autoencoder has {} latent channels", latent),
                    fmt::format("{} or {} are taken", latent, channels_with_mask(vae))});
  }
  check_text(proposal);
}

void CheckUNet::check_text(Proposal& proposal) const {
  int64_t embeds = proposal.network<nn::DenoiserNetwork>("unet").context_dim();
  int64_t hidden = 0;
  for (const std::string& name : text_encoders_) {
    if (proposal.folder.find(name)) hidden += proposal.network<CLIPTextModel>(name).hidden_size();
  }
  if (embeds == hidden) return;
  proposal.error({text_encoders_.front() + ".hidden_size", std::to_string(hidden),
                  fmt::format("the UNet takes embeddings {} wide", embeds),
                  "use the text encoder of the same model"});
}

}  // namespace omnirt::blocks
