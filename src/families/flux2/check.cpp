#include "families/flux2/check.hpp"

#include <fmt/format.h>

#include "networks/flux2_transformer_2d_model/model.hpp"
#include "nn/autoencoder.hpp"
#include "pipeline/keys.hpp"
#include "request/proposal.hpp"

namespace omnirt::flux2 {
namespace {

void check_channels(Proposal& proposal) {
  const auto& network = proposal.network<Flux2Transformer2DModel>("transformer");
  int64_t latents = proposal.network<nn::Autoencoder>("vae").latent_channels();
  int64_t in = network.in_channels(), out = network.out_channels();
  if (in != latents) {
    proposal.error({"transformer.in_channels", std::to_string(in),
                    fmt::format("the autoencoder's latents have {} channels", latents),
                    "use the autoencoder of the same model"});
  } else if (out != in) {
    proposal.error({"transformer.out_channels", std::to_string(out),
                    fmt::format("latents of {} channels want as many", in), ""});
  }
}

// The reference leaves a scale aside where a model was distilled to do without.
void check_guidance(Proposal& proposal) {
  bool distilled = proposal.folder.index.value("is_distilled", Json(false)) == Json(true);
  if (!distilled || !proposal.guider || proposal.guider->conditions().size() == 1) return;
  bool own = !proposal.request.guider.empty();
  std::string value =
      own ? proposal.guider->name() : fmt::format("{}", proposal.config.get(keys::guidance_scale));
  proposal.error({own ? "guider" : "config.guidance_scale", value,
                  "this model was distilled to a few steps without guidance (is_distilled in its "
                  "model_index.json)",
                  own ? "remove it" : "set it to 1, or use a base model"});
}

}  // namespace

void CheckParts::check(Proposal& proposal) const {
  check_channels(proposal);
  check_guidance(proposal);
}

}  // namespace omnirt::flux2
