#pragma once
#include <optional>
#include <string>
#include <vector>

#include "schedulers/scheduler.hpp"
#include "schedulers/sigma_schedule.hpp"

namespace omnirt {

// The keys that schedulers of flow matching share (arXiv 2210.02747, 2403.03206).
struct FlowMatchConfig {
  int64_t num_train_timesteps = 1000;
  double shift = 1.0;
  bool use_dynamic_shifting = false;  // shift by StepPlan::mu instead
  std::string time_shift_type = "exponential";
  bool invert_sigmas = false;
  std::optional<double> shift_terminal = std::nullopt;  // null or 0: off
  SigmaSpreadConfig spread{};
  // From these a pipeline computes mu.
  std::optional<double> base_shift = 0.5;
  std::optional<double> max_shift = 1.15;
  int64_t base_image_seq_len = 256;
  int64_t max_image_seq_len = 4096;

  static void visit(auto& self, auto& v) {
    v("num_train_timesteps", self.num_train_timesteps);
    v("shift", self.shift);
    v("use_dynamic_shifting", self.use_dynamic_shifting);
    v("time_shift_type", self.time_shift_type);
    v("invert_sigmas", self.invert_sigmas);
    v("shift_terminal", self.shift_terminal);
    SigmaSpreadConfig::visit(self.spread, v);
    v("base_shift", self.base_shift);
    v("max_shift", self.max_shift);
    v("base_image_seq_len", self.base_image_seq_len);
    v("max_image_seq_len", self.max_image_seq_len);
  }
  void check(ConfigChecks& checks) const;
};

// num_train_timesteps from 2 to 100000, a shift above 0.
void check_flow_training(ConfigChecks& checks, int64_t train_steps, double shift);

// n noise levels evenly between the ends of training, which are `shift`ed (1: not) as the reference
// does when it is made.
std::vector<double> trained_flow_levels(int64_t train_steps, double shift, int64_t n);

// What schedulers of flow matching share: a noisy sample is sigma * noise + (1 - sigma) * image,
// the network predicts noise - image.
class FlowMatchScheduler : public Scheduler {
 public:
  bool takes_even_levels() const override { return true; }
  GivenLevels takes_levels() const override {
    return {.timesteps = true, .sigmas = true, .both = true};
  }
  void plan_run(const StepPlan& plan) override;
  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override;

 protected:
  explicit FlowMatchScheduler(FlowMatchConfig config) : config_(std::move(config)) {}

  std::vector<float> sigmas_;  // by call index, and the one after the last call

 private:
  std::vector<double> plan_sigmas(const StepPlan& plan) const;
  // The levels shifted as the config says, computed in Real.
  template <class Real>
  std::vector<double> shifted(const std::vector<double>& levels, const StepPlan& plan) const;
  std::vector<double> given_levels(const StepPlan& plan) const;

  FlowMatchConfig config_;
};

}  // namespace omnirt
