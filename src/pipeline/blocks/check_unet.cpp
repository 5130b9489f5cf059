#include "pipeline/blocks/check_unet.hpp"

#include <fmt/format.h>

#include "pipeline/proposal.hpp"

namespace omnirt::blocks {
namespace {

int64_t number(const Json& config, const char* key, int64_t fallback) {
  return config.contains(key) && config[key].is_number_integer() ? config[key].get<int64_t>()
                                                                 : fallback;
}

const Json& config_of(const Facts& facts, const std::string& component) {
  static const Json empty = Json::object();
  auto it = facts.components.find(component);
  return it == facts.components.end() ? empty : it->second;
}

struct Channels {
  int64_t unet_in, latent;
};

Channels channels(const Facts& facts) {
  return {number(config_of(facts, "unet"), "in_channels", 4),
          number(config_of(facts, "vae"), "latent_channels", 4)};
}

}  // namespace

Trigger has_mask_channels() {
  return {[](const Facts& facts) {
            auto [unet_in, latent] = channels(facts);
            return unet_in == 2 * latent + 1;
          },
          "unet.in_channels == 2 * vae.latent_channels + 1",
          {}};
}

namespace {

// A UNet that predicts a variance beside the noise has twice the channels, and only some schedulers
// read them.
void check_variance(Proposal& proposal, int64_t latent) {
  int64_t out = number(proposal.component_config("unet"), "out_channels", latent);
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
  check_variance(proposal, channels(proposal.facts).latent);
  auto [unet_in, latent] = channels(proposal.facts);
  bool masked = unet_in == 2 * latent + 1;
  if (masked && proposal.task != "inpaint") {
    proposal.error(
        {"task", proposal.task,
         fmt::format("this checkpoint is made for inpainting: its UNet takes {} channels", unet_in),
         "give inputs.image and inputs.mask"});
  } else if (!masked && unet_in != latent) {
    proposal.error({"unet.in_channels", std::to_string(unet_in),
                    fmt::format("the autoencoder has {} latent channels", latent),
                    fmt::format("{} or {} are taken", latent, 2 * latent + 1)});
  }
  check_text(proposal);
}

void CheckUNet::check_text(Proposal& proposal) const {
  int64_t embeds = number(proposal.component_config("unet"), "cross_attention_dim", 1280);
  int64_t hidden = 0;
  for (const std::string& name : text_encoders_) {
    if (proposal.folder.find(name))
      hidden += number(proposal.component_config(name), "hidden_size", 512);
  }
  if (embeds == hidden) return;
  proposal.error({text_encoders_.front() + ".hidden_size", std::to_string(hidden),
                  fmt::format("the UNet takes embeddings {} wide", embeds),
                  "use the text encoder of the same model"});
}

}  // namespace omnirt::blocks
