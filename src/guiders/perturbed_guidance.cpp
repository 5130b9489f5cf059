#include "guiders/perturbed_guidance.hpp"

#include <algorithm>

#include "guiders/maths.hpp"

namespace omnirt {

std::vector<Condition> PerturbedGuidance::conditions() const {
  std::vector<Condition> all{{"cond"}};
  if (guides()) all.push_back(unconditional());
  if (config_.scale > 0) all.push_back({.name = "perturbed", .sites = config_.sites});
  return all;
}

double PerturbedGuidance::scale(const GuidanceStep& step) const {
  if (!config_.range.holds(step.index, step.steps)) return 0;
  return std::max(0.0, config_.scale - config_.adaptive_scale * (1000 - step.timestep));
}

std::vector<std::string> PerturbedGuidance::active(const GuidanceStep& step) const {
  std::vector<std::string> names{"cond"};
  if (guides(step)) names.emplace_back("uncond");
  if (scale(step) > 0) names.emplace_back("perturbed");
  return names;
}

Tensor PerturbedGuidance::combine(const Predictions& predictions, GuidanceStep& step) const {
  const Tensor& cond = predictions.at("cond");
  Tensor result = cond;
  if (guides(step))
    result = guided(cond, predictions.at("uncond"), config_.guidance.guidance_scale);
  if (double push = scale(step); push > 0)
    result = result + push * (cond - predictions.at("perturbed"));
  return guides(step) ? rescaled(result, cond, config_.guidance.guidance_rescale) : result;
}

}  // namespace omnirt
