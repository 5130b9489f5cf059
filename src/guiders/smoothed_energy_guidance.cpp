#include "guiders/perturbed_guidance.hpp"

namespace omnirt {
namespace {

constexpr Key<double> seg_scale{
    "seg_scale", 3.0, {0, 100}, "", "how strongly the smoothed prediction is avoided"};
constexpr Key<double> seg_blur_sigma{
    "seg_blur_sigma",
    9999999.0,
    {0.01, 1e9},
    "",
    "how far queries are blurred, in tokens; 9999 or more: all are their mean"};
constexpr Key<std::string> seg_applied_layers{
    "seg_applied_layers",
    "mid",
    {},
    "",
    "whose self-attention is smoothed: mid, down_blocks.1, up_blocks.0.attentions.1, ..."};
constexpr Key<double> seg_start{
    "seg_start", 0.0, {0, 1}, "", "fraction of the run at which the smoothed prediction sets in"};
constexpr Key<double> seg_stop{"seg_stop", 1.0, {0, 1}, "", "fraction of the run at which it ends"};

}  // namespace

// Smoothed energy guidance (Hong 2024, arXiv 2408.00760): queries of self-attention are blurred.
GuiderInfo smoothed_energy_guidance_info() {
  auto keys =
      with_guidance_keys({&seg_scale, &seg_blur_sigma, &seg_applied_layers, &seg_start, &seg_stop});
  return {"seg", "smoothed energy guidance, combined with classifier-free guidance", keys,
          [keys](const Json& json) {
            ConfigValues values = read_guider_settings(json, keys);
            SiteChange change{SiteChange::What::blurred_queries, values.get(seg_blur_sigma)};
            return std::make_unique<PerturbedGuidance>(
                "seg", PerturbedConfig{guidance_config(values), values.get(seg_scale),
                                       step_range(values, seg_start, seg_stop), 0,
                                       site_rules(values, seg_applied_layers,
                                                  SiteKind::self_attention, change)});
          }};
}

}  // namespace omnirt
