#include "families/flux/check.hpp"

#include <fmt/format.h>

#include "families/flux/joined.hpp"

namespace omnirt::flux {

void CheckParts::check_channels(Checks& checks) const {
  int64_t in = checks[transformer].in_channels(), out = checks[transformer].out_channels();
  int64_t latents = checks[vae].latent_channels();
  const int64_t squares = FluxTransformer2DConfig::latents_of_a_token;
  const int64_t with_mask = channels_with_mask(checks[vae]),
                with_control = channels_with_control(checks[vae]);
  if (in != latents && in != with_mask && in != with_control) {
    checks.error({"transformer.in_channels", std::to_string(in * squares),
                  fmt::format("2x2 latents of the autoencoder have {} channels, {} with a control "
                              "image, {} with a masked one",
                              latents * squares, with_control * squares, with_mask * squares),
                  "use the autoencoder of the same model"});
  } else if (out != latents) {
    checks.error({"transformer.out_channels", std::to_string(out * squares),
                  fmt::format("2x2 latents of {} channels want {}", latents, latents * squares),
                  ""});
  }
}

void CheckParts::check_texts(Checks& checks) const {
  auto expect = [&](const char* field, int64_t has, int64_t wanted) {
    if (has == wanted) return;
    checks.error({field, std::to_string(has),
                  fmt::format("the transformer takes embeddings {} wide", wanted),
                  "use the text encoder of the same model"});
  };
  expect("text_encoder.hidden_size", checks[text_encoder].hidden_size(),
         checks[transformer].pooled_dim());
  expect("text_encoder_2.d_model", checks[text_encoder_2].hidden_size(),
         checks[transformer].context_dim());
}

// The reference ignores the scale where there is no negative prompt.
void CheckParts::check_negative(Checks& checks) const {
  for (const Condition& condition : checks.conditions()) {
    if (!condition.negative() || !checks.texts(prompt, condition).texts.empty()) continue;
    auto scale = checks.maybe(true_cfg_scale);  // unset with a guider of the request's own
    checks.error({scale ? "config.true_cfg_scale" : "guider",
                  scale ? fmt::format("{}", *scale) : checks.guider(),
                  "guidance by a negative prompt, and there is none",
                  "give negative_prompt, which may be \"\"; or remove it"});
  }
}

void CheckParts::check(Checks& checks) const {
  check_channels(checks);
  check_texts(checks);
  check_negative(checks);
}

}  // namespace omnirt::flux
