#include "guiders/skipped_guidance.hpp"

#include "guiders/perturbed_guidance.hpp"

namespace omnirt {
namespace {

using namespace guider_keys;

constexpr Key<double> skipped_scale{
    "guidance_scale", 7.0, {0, 100}, "", "how strongly the prompt is followed"};

const std::vector<const KeyInfo*>& skipped_keys() {
  static const std::vector<const KeyInfo*> keys{
      &skipped_scale, &skip_guidance_layers, &skip_layer_guidance_scale, &skip_layer_guidance_start,
      &skip_layer_guidance_stop};
  return keys;
}

std::vector<SiteRule> rules_of(const std::vector<int64_t>& layers) {
  std::vector<SiteRule> rules;
  for (int64_t layer : layers) {
    rules.push_back({std::to_string(layer),
                     SiteKind::block,
                     {SiteChange::What::skip},
                     "guider.skip_guidance_layers"});
  }
  return rules;
}

// Nothing is skipped without classifier-free guidance, as in the reference.
PerturbedConfig skipped_config(const ConfigValues& values) {
  auto layers = values.maybe(skip_guidance_layers);
  PerturbedConfig config{.guidance = {.guidance_scale = values.get(skipped_scale)}};
  config.range = step_range(values, skip_layer_guidance_start, skip_layer_guidance_stop);
  config.range.after_start = config.range.rounds_up = true;
  if (!layers || layers->empty() || config.guidance.guidance_scale <= 1) return config;
  config.scale = values.get(skip_layer_guidance_scale);
  config.sites = rules_of(*layers);
  return config;
}

}  // namespace

// Classifier-free guidance, and away from what the network predicts without some of its blocks, as
// Stable Diffusion 3.5's pipeline has it (diffusers StableDiffusion3Pipeline): slg of diffusers'
// guiders ends a step earlier where stop * steps is no whole number.
GuiderInfo skipped_guidance_info() {
  return {"cfg_skip_layers",
          "classifier-free guidance, and away from the prediction without some blocks",
          skipped_keys(), [](const Json& json) {
            return std::make_unique<PerturbedGuidance>(
                "cfg_skip_layers", skipped_config(read_guider_settings(json, skipped_keys())));
          }};
}

}  // namespace omnirt
