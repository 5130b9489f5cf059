#pragma once
#include <limits>

#include "guiders/guider.hpp"
#include "guiders/settings.hpp"

namespace omnirt {

// The condition without a prompt, or with the negative one.
Condition unconditional();

// The noise levels at which guidance holds: (min, max].
struct SigmaRange {
  double min = -1;
  double max = std::numeric_limits<double>::infinity();
  bool holds(double sigma) const { return sigma > min && sigma <= max; }
};

// Classifier-free guidance (Ho & Salimans 2022, arXiv 2207.12598): uncond + scale * (cond -
// uncond). A scale of 1 or less asks for one condition, as the reference's pipelines do;
// guidance_rescale as maths.hpp has it. Outside its ranges the network is evaluated under cond
// alone (Kynkaanniemi et al. 2024, arXiv 2404.07724).
class ClassifierFreeGuidance final : public Guider {
 public:
  explicit ClassifierFreeGuidance(GuidanceConfig config, SigmaRange sigmas = {},
                                  std::string name = "cfg")
      : config_(config), sigmas_(sigmas), name_(std::move(name)) {}
  std::string name() const override { return name_; }
  std::vector<Condition> conditions() const override;
  std::vector<std::string> active(const GuidanceStep& step) const override;
  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override;

 private:
  bool guides() const { return config_.guidance_scale > 1.0; }
  bool guides(const GuidanceStep& step) const {
    return guides() && config_.range.holds(step.index, step.steps) && sigmas_.holds(step.sigma);
  }
  GuidanceConfig config_;
  SigmaRange sigmas_;
  std::string name_;
};

}  // namespace omnirt
