#include "families/chroma/check.hpp"

#include <fmt/format.h>

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
  const int64_t made = checks[text_encoder].hidden_size(), read = checks[transformer].context_dim();
  if (made == read) return;
  checks.error({"text_encoder.d_model", std::to_string(made),
                fmt::format("the transformer takes embeddings {} wide", read),
                "use the text encoder of the same model"});
}

}  // namespace omnirt::chroma
