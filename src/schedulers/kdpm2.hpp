#pragma once
#include <optional>
#include <span>
#include <vector>

#include "schedulers/sigma_scheduler.hpp"

namespace omnirt {

struct Kdpm2Config {
  BetaConfig betas{.beta_start = 0.00085, .beta_end = 0.012};
  SigmaSpreadConfig spread;
  std::string prediction_type = "epsilon";
  SpacingConfig spacing;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    SigmaSpreadConfig::visit(self.spread, v);
    v("prediction_type", self.prediction_type);
    SpacingConfig::visit(self.spacing, v);
  }
  void check(ConfigChecks& checks) const;
};

// What the deterministic and the ancestral form share: a step s goes from its sigma to a middle one
// (call 2s) and, with the slope found there, from the start to its end (call 2s + 1). The last step
// has only the first call, straight to sigma 0.
class Kdpm2Scheduler : public SigmaScheduler {
 public:
  explicit Kdpm2Scheduler(const Kdpm2Config& config);
  int64_t order() const override { return 2; }
  Tensor scale_model_input(const Tensor& sample, size_t index) override;
  void visit_history(History& history) override { history("start_sample", start_); }

 protected:
  SigmaWalk walk_steps(int64_t n) const;
  // The fp32 geometric mean of two sigmas, by the reference's kernels.
  static float middle(float a, float b);
  // Sets timesteps_, sigmas_, middles_ and step_sigmas_ from a walk, its sigmas with the last 0,
  // and the middle of each step.
  void interleave(const SigmaWalk& walk, std::span<const float> sigmas,
                  std::span<const float> middles);
  StepResult first_call(const Tensor& model_output, const Tensor& sample, size_t step);
  // The sample that the step under way began with; ends that step.
  Tensor take_start();

  std::vector<float> step_sigmas_;  // by step, and 0
  std::vector<float> middles_;      // by step; 0 for the last
  std::optional<Tensor> start_;

 private:
  SigmaSpreadConfig spread_;
};

}  // namespace omnirt
