#include "families/sd3/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "blocks/image_size.hpp"
#include "families/sd3/encode_prompt.hpp"

namespace omnirt::sd3 {

void CheckParts::check_channels(Checks& checks) const {
  int64_t in = checks[transformer].in_channels(), out = checks[transformer].out_channels();
  int64_t latents = checks[vae].latent_channels();
  auto expect = [&](const char* field, int64_t has) {
    if (has == latents) return;
    checks.error({field, std::to_string(has),
                  fmt::format("the autoencoder's latents have {} channels", latents),
                  "use the autoencoder of the same model"});
  };
  expect("transformer.in_channels", in);
  expect("transformer.out_channels", out);
}

void CheckParts::check_texts(Checks& checks) const {
  const CLIPTextModel &first = checks[text_encoder], &second = checks[text_encoder_2];
  int64_t pooled = pooled_width(first) + pooled_width(second);
  if (pooled != checks[transformer].pooled_dim()) {
    checks.error({"transformer.pooled_projection_dim",
                  std::to_string(checks[transformer].pooled_dim()),
                  fmt::format("both text encoders' embeddings of the prompt make {}", pooled),
                  "use the text encoders of the same model"});
  }
  int64_t wide = first.hidden_size() + second.hidden_size();
  if (wide > checks[transformer].context_dim()) {
    checks.error({"transformer.joint_attention_dim",
                  std::to_string(checks[transformer].context_dim()),
                  fmt::format("both text encoders' states are {} wide", wide),
                  "use the text encoders of the same model"});
  }
}

// The reference leaves all of it aside without guidance.
void CheckParts::check_skipped(Checks& checks) const {
  auto skipped = checks.maybe(layers);
  if (skipped && !skipped->empty()) return;
  for (const Config<double>* port : {&scale, &start, &stop}) {
    if (checks.origin(*port) == Origin::user)
      checks.unused(*port, "has no effect without skip_guidance_layers",
                    "set config.skip_guidance_layers=7,8,9, or remove it");
  }
}

void CheckParts::check(Checks& checks) const {
  check_channels(checks);
  check_texts(checks);
  check_skipped(checks);
}

void ImageSize::check(Checks& checks) const {
  const SD3Transformer2DModel& network = checks[transformer];
  const int64_t latent = checks[vae].factors().side, token = latent * network.patch_size();
  const int64_t most = network.max_side() * token;
  for (const Config<int64_t>* side : {&width, &height}) {
    auto given = checks.maybe(*side);
    if (!given) {
      blocks::settle_from_model(checks, *side, transformer, network.sample_size()[0], latent);
      continue;
    }
    blocks::check_grid(checks, *side, *given, token);
    if (*given <= most) continue;
    checks.error({"config." + side->name(), std::to_string(*given),
                  fmt::format("the transformer has positions for {} pixels", most),
                  fmt::format("give at most {}", most)});
  }
}

void ImageSize::tell_sizes(const Checks& checks, SymbolSizes& sizes) const {
  blocks::tell_image_sizes(checks[width], checks[height], checks[vae], sizes);
}

}  // namespace omnirt::sd3
