#include "guiders/original_guidance.hpp"

#include <ATen/TensorOperators.h>

#include "guiders/classifier_free_guidance.hpp"
#include "guiders/maths.hpp"
#include "guiders/settings.hpp"

namespace omnirt {
namespace {

// Timesteps count from 0, the image, to this, as in the reference's pipelines.
constexpr float all_timesteps = 1000;

constexpr Key<double> original_scale{
    "guidance_scale", 5.0, {0, 100}, "", "how strongly the prompt is followed; 0: no guidance"};

const std::vector<const KeyInfo*>& original_keys() {
  static const std::vector<const KeyInfo*> keys{&original_scale, &guider_keys::cfg_normalization,
                                                &guider_keys::cfg_truncation};
  return keys;
}

// {n, 1, ...}.
Tensor length_by_image(const Tensor& x) {
  return sum_by_image(x.square()).sqrt();
}

}  // namespace

bool OriginalGuidance::guides(const GuidanceStep& step) const {
  float done = (all_timesteps - static_cast<float>(step.timestep)) / all_timesteps;
  return guides() && done <= config_.cfg_truncation;
}

std::vector<Condition> OriginalGuidance::conditions() const {
  std::vector<Condition> all{{"cond"}};
  if (guides()) all.push_back(unconditional());
  return all;
}

std::vector<std::string> OriginalGuidance::active(const GuidanceStep& step) const {
  return guides(step) ? std::vector<std::string>{"cond", "uncond"}
                      : std::vector<std::string>{"cond"};
}

Tensor OriginalGuidance::combine(const Predictions& predictions, GuidanceStep& step) const {
  const Tensor& cond = predictions.at("cond");
  if (!guides(step)) return cond;
  Tensor guided = cond + config_.guidance_scale * (cond - predictions.at("uncond"));
  if (config_.cfg_normalization == 0) return guided;
  Tensor most = length_by_image(cond) * config_.cfg_normalization;
  return guided * (most / length_by_image(guided)).clamp_max(1.0);
}

GuiderInfo original_guidance_info() {
  return {"cfg_original",
          "classifier-free guidance whose scale counts from the prompt's prediction",
          original_keys(), [](const Json& json) {
            ConfigValues values = read_guider_settings(json, original_keys());
            return std::make_unique<OriginalGuidance>(OriginalGuidanceConfig{
                values.get(original_scale), values.get(guider_keys::cfg_normalization),
                values.get(guider_keys::cfg_truncation)});
          }};
}

}  // namespace omnirt
