#include "families/flux2/check.hpp"

#include <fmt/format.h>

namespace omnirt::flux2 {

Trigger keeps_references() {
  return index_is("_class_name", "Flux2KleinKVPipeline");
}

void CheckParts::check_channels(Checks& checks) const {
  int64_t in = checks[transformer].in_channels(), out = checks[transformer].out_channels();
  int64_t latents = checks[vae].latent_channels();
  if (in != latents) {
    checks.error({"transformer.in_channels", std::to_string(in),
                  fmt::format("the autoencoder's latents have {} channels", latents),
                  "use the autoencoder of the same model"});
  } else if (out != in) {
    checks.error({"transformer.out_channels", std::to_string(out),
                  fmt::format("latents of {} channels want as many", in), ""});
  }
}

// The reference ignores a scale where a model was distilled to do without, and has none for models
// that keep their references, which all are.
void CheckParts::check_guidance(Checks& checks) const {
  bool distilled = checks.holds(index_is("is_distilled", true) || keeps_references());
  if (!distilled || checks.conditions().size() <= 1) return;
  auto scale = checks.maybe(guidance_scale);  // unset with a guider of the request's own
  bool own = !scale;
  checks.error({own ? "guider" : "config.guidance_scale",
                own ? checks.guider() : fmt::format("{}", *scale),
                "this model was distilled to a few steps without guidance (is_distilled in its "
                "model_index.json)",
                own ? "remove it" : "set it to 1, or use a base model"});
}

void CheckParts::check(Checks& checks) const {
  check_channels(checks);
  check_guidance(checks);
}

}  // namespace omnirt::flux2
