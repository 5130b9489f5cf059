#include "families/flux3/check.hpp"

#include <fmt/format.h>

namespace omnirt::flux3 {

Trigger is_flow_map() {
  return {[](const Facts& facts) {
            const auto* network = facts.network<Flux3Transformer2DModel>("transformer");
            return network && network->flow_map();
          },
          "transformer.flow_map",
          {}};
}

void CheckParts::check_channels(Checks& checks) const {
  const Flux3Transformer2DModel& network = checks[transformer];
  const int64_t latents = checks[vae].latent_channels();
  auto check = [&](const char* key, int64_t channels) {
    if (channels == latents) return;
    checks.error({std::string("transformer.") + key, std::to_string(channels),
                  fmt::format("the autoencoder's latents have {} channels", latents),
                  "use the autoencoder of the same model"});
  };
  check("in_channels", network.in_channels());
  if (checks.task() == "edit") check("cond_in_channels", network.reference_channels());
}

// The reference's pipeline of a flow map has no guider.
void CheckParts::check_guidance(Checks& checks) const {
  if (!checks[transformer].flow_map() || checks.conditions().size() <= 1) return;
  auto scale = checks.maybe(guidance_scale);  // unset with a guider of the request's own
  checks.error({scale ? "config.guidance_scale" : "guider",
                scale ? fmt::format("{}", *scale) : checks.guider(),
                "this model was distilled to a few steps without guidance (flow_map in its "
                "transformer's config.json)",
                scale ? "set it to 1, or use the base model" : "remove it"});
}

void CheckParts::check(Checks& checks) const {
  check_channels(checks);
  check_guidance(checks);
}

}  // namespace omnirt::flux3
