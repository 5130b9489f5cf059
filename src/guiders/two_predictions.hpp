#pragma once
#include "guiders/classifier_free_guidance.hpp"

namespace omnirt {

// Guiders that combine cond with one other prediction, unless the scale is 1 or the step is outside
// the range: then cond is all that is asked for.
class TwoPredictionGuider : public Guider {
 public:
  std::string name() const override { return name_; }
  std::vector<Condition> conditions() const override;
  std::vector<std::string> active(const GuidanceStep& step) const override;
  // rescaled() of combined().
  Tensor combine(const Predictions& predictions, GuidanceStep& step) const override;

 protected:
  TwoPredictionGuider(std::string name, GuidanceConfig config, Condition other)
      : config_(config), other_(std::move(other)), name_(std::move(name)) {}
  virtual Tensor combined(const Tensor& cond, const Tensor& other, GuidanceStep& step) const = 0;
  bool guides() const { return config_.guidance_scale != 1.0; }
  bool guides(const GuidanceStep& step) const {
    return guides() && config_.range.holds(step.index, step.steps);
  }

  GuidanceConfig config_;
  Condition other_;

 private:
  std::string name_;
};

}  // namespace omnirt
