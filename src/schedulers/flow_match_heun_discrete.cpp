// Heun's second-order method along the straight paths of flow matching (arXiv 2210.02747): two
// calls a step, one at the last.
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/flow_match.hpp"

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
    start_.reset();
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    float sigma = sigmas_.at(index);
    Tensor original = sample - model_output * sigma;
    Tensor derivative = (sample - original) / sigma;
    if (!start_) {
      start_ = Start{sample, derivative, sigmas_.at(index + 1) - sigma};
      return {sample + derivative * start_->dt, original};
    }
    Start start = std::move(*start_);
    start_.reset();
    return {start.sample + (start.derivative + derivative) * 0.5 * start.dt, original};
  }

  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override {
    float sigma = sigmas_.at(index);
    return noise * sigma + original * (1 - sigma);
  }

  void visit_history(History& history) override {
    Start start = start_.value_or(Start{});
    history("start_sample", start.sample);
    history("start_derivative", start.derivative);
    double dt = start.dt;
    history("start_dt", dt);
    start.dt = static_cast<float>(dt);
    start_ = start.sample.defined() ? std::optional(start) : std::nullopt;
  }

 private:
  // Where the step under way began.
  struct Start {
    Tensor sample;
    Tensor derivative;
    float dt = 0;
  };

  FlowMatchHeunConfig config_;
  std::vector<float> sigmas_;  // by call index, and the one after the last call
  std::optional<Start> start_;
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
