#include "guiders/perturbed_guidance.hpp"

namespace omnirt {
namespace {

constexpr Key<double> pag_scale{
    "pag_scale", 3.0, {0, 100}, "", "how strongly the disturbed prediction is avoided; 0: not"};
constexpr Key<double> pag_adaptive_scale{
    "pag_adaptive_scale",
    0.0,
    {0, 100},
    "",
    "taken off pag_scale for each timestep below 1000; 0: pag_scale stays as it is"};
constexpr Key<std::string> pag_applied_layers{
    "pag_applied_layers",
    "mid",
    {},
    "",
    "whose self-attention is disturbed: mid, down_blocks.1, up_blocks.0.attentions.1, ..."};
constexpr Key<double> pag_start{
    "pag_start", 0.0, {0, 1}, "", "fraction of the run at which the disturbed prediction sets in"};
constexpr Key<double> pag_stop{"pag_stop", 1.0, {0, 1}, "", "fraction of the run at which it ends"};

}  // namespace

// Perturbed-attention guidance (arXiv 2403.17377): self-attention whose tokens see themselves
// alone.
GuiderInfo perturbed_attention_guidance_info() {
  auto keys = with_guidance_keys(
      {&pag_scale, &pag_adaptive_scale, &pag_applied_layers, &pag_start, &pag_stop});
  return {"pag", "perturbed-attention guidance, combined with classifier-free guidance", keys,
          [keys](const Json& json) {
            ConfigValues values = read_guider_settings(json, keys);
            SiteChange change{SiteChange::What::identity_attention};
            return std::make_unique<PerturbedGuidance>(
                "pag",
                PerturbedConfig{
                    guidance_config(values), values.get(pag_scale),
                    step_range(values, pag_start, pag_stop), values.get(pag_adaptive_scale),
                    site_rules(values, pag_applied_layers, SiteKind::self_attention, change)});
          }};
}

}  // namespace omnirt
