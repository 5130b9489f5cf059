#include "families/krea2/check.hpp"

#include <fmt/format.h>

namespace omnirt::krea2 {

void CheckParts::check(Checks& checks) const {
  constexpr int64_t squares = Krea2Transformer2DConfig::latents_of_a_token;
  const int64_t in = checks[transformer].in_channels(), latents = checks[vae].latent_channels();
  if (in != latents) {
    checks.error({"transformer.in_channels", std::to_string(in * squares),
                  fmt::format("2x2 latents of the autoencoder have {} channels", latents * squares),
                  "use the autoencoder of the same model"});
  }
  const Json side =
      checks.model_index().value("patch_size", Json(Krea2Transformer2DConfig::patch_side));
  if (side == Json(Krea2Transformer2DConfig::patch_side)) return;
  checks.error({"model.patch_size", side.dump(),
                fmt::format("tokens of other than {0}x{0} latents are not implemented",
                            Krea2Transformer2DConfig::patch_side),
                "use a model whose model_index.json says 2"});
}

}  // namespace omnirt::krea2
