#include "families/chroma/check.hpp"

#include <fmt/format.h>

#include "blocks/text_width.hpp"

namespace omnirt::chroma {

void CheckParts::check(Checks& checks) const {
  const int64_t in = checks[transformer].in_channels(), out = checks[transformer].out_channels();
  const int64_t latents = checks[vae].latent_channels();
  const int64_t squares = FluxTransformer2DConfig::latents_of_a_token;
  if (in != latents) {
    checks.error({"transformer.in_channels", std::to_string(in * squares),
                  fmt::format("2x2 latents of the autoencoder have {} channels", latents * squares),
                  "use the autoencoder of the same model"});
  } else if (out != latents) {
    checks.error({"transformer.out_channels", std::to_string(out * squares),
                  fmt::format("2x2 latents of {} channels want {}", latents, latents * squares),
                  ""});
  }
  blocks::check_text_width(checks, "text_encoder.d_model", checks[text_encoder].hidden_size(),
                           checks[transformer].context_dim());
}

}  // namespace omnirt::chroma
