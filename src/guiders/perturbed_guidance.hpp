#pragma once
#include "guiders/classifier_free_guidance.hpp"

namespace omnirt {

// How a prediction of a network that was made worse pushes the guided one away.
struct PerturbedConfig {
  GuidanceConfig guidance;
  double scale = 0;
  StepRange range{};
  // Taken off the scale for each timestep below 1000, down to 0.
  double adaptive_scale = 0;
  std::vector<SiteRule> sites{};  // what makes the network worse
};

// Guidance away from what the network predicts under the same prompt with some of its layers
// disturbed, combined with classifier-free guidance:
// uncond + guidance_scale (cond - uncond) + scale (cond - perturbed), and without classifier-free
// guidance cond + scale (cond - perturbed) (Ahn et al. 2024, arXiv 2403.17377, equations 15 and
// 17).
class PerturbedGuidance final : public Guider {
 public:
  PerturbedGuidance(std::string name, PerturbedConfig config)
      : config_(std::move(config)), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::vector<Condition> conditions() const override;
  std::vector<std::string> active(const GuidanceStep& step) const override;
  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override;

 private:
  bool guides() const { return config_.guidance.guidance_scale > 1.0; }
  bool guides(const GuidanceStep& step) const {
    return guides() && config_.guidance.range.holds(step.index, step.steps);
  }
  // At a step; 0 outside the range.
  double scale(const GuidanceStep& step) const;

  PerturbedConfig config_;
  std::string name_;
};

}  // namespace omnirt
