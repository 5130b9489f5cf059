#include "guiders/perturbed_guidance.hpp"

namespace omnirt {
namespace {

constexpr Key<double> slg_scale{
    "slg_scale", 2.8, {0, 100}, "", "how strongly the prediction without the layers is avoided"};
constexpr Key<std::string> slg_layers{
    "slg_layers",
    "mid",
    {},
    "",
    "what is left out: mid, up_blocks.1.attentions.0, ...; a number: that block of a transformer"};
constexpr Key<std::string> slg_skip{"slg_skip",
                                    "block",
                                    {},
                                    "",
                                    "leave out whole transformer blocks, or a part of each",
                                    "",
                                    "block|attention|feed_forward"};
constexpr Key<double> slg_start{
    "slg_start", 0.01, {0, 1}, "", "fraction of the run after which layers are left out"};
constexpr Key<double> slg_stop{
    "slg_stop", 0.2, {0, 1}, "", "fraction of the run at which that ends"};

SiteKind kind_of(const std::string& skip) {
  if (skip == "attention") return SiteKind::self_attention;
  return skip == "feed_forward" ? SiteKind::feed_forward : SiteKind::block;
}

}  // namespace

// Skip-layer guidance (github Stability-AI/sd3.5): layers are left out.
GuiderInfo skip_layer_guidance_info() {
  auto keys = with_guidance_keys({&slg_scale, &slg_layers, &slg_skip, &slg_start, &slg_stop});
  return {"slg", "skip-layer guidance, combined with classifier-free guidance", keys,
          [keys](const Json& json) {
            ConfigValues values = read_guider_settings(json, keys);
            StepRange range = step_range(values, slg_start, slg_stop);
            range.after_start = true;
            return std::make_unique<PerturbedGuidance>(
                "slg", PerturbedConfig{guidance_config(values), values.get(slg_scale), range, 0,
                                       site_rules(values, slg_layers, kind_of(values.get(slg_skip)),
                                                  {SiteChange::What::skip})});
          }};
}

}  // namespace omnirt
