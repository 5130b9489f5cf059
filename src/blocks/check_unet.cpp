#include "blocks/check_unet.hpp"

#include <fmt/format.h>

namespace omnirt::blocks {
namespace {

// Latents, the masked image's, and the mask.
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

CheckUNet::CheckUNet(const std::vector<std::string>& text_encoders)
    : Block("check_unet", Stage::prepare_conditions) {
  for (const std::string& name : text_encoders) text_encoders_.emplace_back(this, name);
}

// A UNet that predicts a variance with the noise has twice the channels, and only some schedulers
// read them.
void CheckUNet::check_variance(Checks& checks) const {
  int64_t out = checks[unet].out_channels(), latent = checks[vae].latent_channels();
  const SchedulerChoice& choice = checks[scheduler];
  bool wanted = choice.info && choice.make()->needs_predicted_variance();
  if (out == (wanted ? 2 * latent : latent)) return;
  checks.error(
      {wanted ? "scheduler.variance_type" : "unet.out_channels", std::to_string(out),
       fmt::format("{} latent channels, and a scheduler that {} a predicted variance, want {}",
                   latent, wanted ? "reads" : "does not read", wanted ? 2 * latent : latent),
       wanted ? "give scheduler_config a fixed variance_type"
              : "use the scheduler that the model came with"});
}

void CheckUNet::check(Checks& checks) const {
  int64_t unet_in = checks[unet].in_channels(), latent = checks[vae].latent_channels();
  int64_t with_mask = channels_with_mask(checks[vae]);
  bool masked = unet_in == with_mask;
  check_variance(checks);
  if (masked && checks.task() != "inpaint") {
    checks.error(
        {"task", checks.task(),
         fmt::format("this checkpoint is made for inpainting: its UNet takes {} channels", unet_in),
         "give inputs.image and inputs.mask"});
  } else if (!masked && unet_in != latent) {
    checks.error({"unet.in_channels", std::to_string(unet_in),
                  fmt::format("the autoencoder has {} latent channels", latent),
                  fmt::format("{} or {} are taken", latent, with_mask)});
  }
  check_text(checks);
}

void CheckUNet::check_text(Checks& checks) const {
  int64_t embeds = checks[unet].context_dim(), hidden = 0;
  for (const auto& encoder : text_encoders_) {
    if (checks.folder(encoder)) hidden += checks[encoder].hidden_size();
  }
  if (embeds == hidden) return;
  checks.error({text_encoders_.front().name() + ".hidden_size", std::to_string(hidden),
                fmt::format("the UNet takes embeddings {} wide", embeds),
                "use the text encoder of the same model"});
}

}  // namespace omnirt::blocks
