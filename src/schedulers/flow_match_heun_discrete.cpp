// Heun's second-order method along the straight paths of flow matching (arXiv 2210.02747): two
// calls per step, one at the last.
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/flow_match.hpp"
#include "schedulers/heun_step.hpp"

namespace omnirt {
namespace {

struct FlowMatchHeunConfig {
  int64_t num_train_timesteps = 1000;
  double shift = 1.0;

  static void visit(auto& self, auto& v) {
    v("num_train_timesteps", self.num_train_timesteps);
    v("shift", self.shift);
  }
  void check(ConfigChecks& checks) const {
    check_flow_training(checks, num_train_timesteps, shift);
  }
};

class FlowMatchHeunDiscrete final : public Scheduler {
 public:
  explicit FlowMatchHeunDiscrete(const FlowMatchHeunConfig& config) : config_(config) {}

  int64_t order() const override { return 2; }

  void plan_run(const StepPlan& plan) override {
    auto train_steps = static_cast<float>(config_.num_train_timesteps);
    std::vector<double> levels =
        trained_flow_levels(config_.num_train_timesteps, config_.shift, plan.num_inference_steps);
    sigmas_.clear();
    timesteps_.clear();
    for (double level : levels) {
      auto sigma = static_cast<float>(shift_sigma(level, config_.shift));
      size_t calls = sigmas_.empty() ? 1 : 2;
      sigmas_.insert(sigmas_.end(), calls, sigma);
      timesteps_.insert(timesteps_.end(), calls, sigma * train_steps);
    }
    sigmas_.push_back(0);
    heun_.begin_run();
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    float sigma = sigmas_.at(index);
    Tensor original = sample - model_output * sigma;
    Tensor derivative = (sample - original) / sigma;
    return {heun_.advance(sample, derivative, sigmas_.at(index + 1) - sigma), original};
  }

  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override {
    float sigma = sigmas_.at(index);
    return noise * sigma + original * (1 - sigma);
  }

  void visit_history(History& history) override { heun_.visit_history(history); }

 private:
  FlowMatchHeunConfig config_;
  std::vector<float> sigmas_;  // by call index, and the one after the last call
  HeunStep heun_;
};

}  // namespace

SchedulerInfo flow_match_heun_discrete() {
  SchedulerInfo info = describe_scheduler<FlowMatchHeunDiscrete, FlowMatchHeunConfig>(
      "FlowMatchHeunDiscreteScheduler", {"flow-match-heun-discrete", "flow-match-heun"},
      "Heun's method for flow-matching models; two network calls per step");
  info.made_for = SchedulerFor::flow_matching;
  return info;
}

}  // namespace omnirt
