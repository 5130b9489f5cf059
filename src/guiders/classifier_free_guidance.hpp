#pragma once
#include "guiders/guider.hpp"

namespace omnirt {

struct GuidanceConfig {
  double guidance_scale = 7.5;
  double guidance_rescale = 0.0;
  static void visit(auto& self, auto& v) {
    v("guidance_scale", self.guidance_scale);
    v("guidance_rescale", self.guidance_rescale);
  }
};

// Classifier-free guidance (Ho & Salimans 2022, arXiv 2207.12598): uncond + scale * (cond -
// uncond). A scale of 1 or less asks for one condition, as the reference does. guidance_rescale
// pulls the spread of the result back towards that of cond (Lin et al. 2023, arXiv 2305.08891,
// section 3.4).
class ClassifierFreeGuidance final : public Guider {
 public:
  explicit ClassifierFreeGuidance(GuidanceConfig config) : config_(config) {}
  std::string name() const override { return "cfg"; }
  std::vector<Condition> conditions() const override;
  std::vector<std::string> active(size_t index, size_t steps) const override;
  Tensor combine(const Predictions& predictions) const override;

 private:
  bool guided() const { return config_.guidance_scale > 1.0; }
  GuidanceConfig config_;
};

GuiderInfo classifier_free_guidance_info();
// One condition, whatever the scale.
GuiderInfo no_guidance_info();

}  // namespace omnirt
