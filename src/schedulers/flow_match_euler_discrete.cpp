// Euler steps along the straight paths of flow matching (arXiv 2210.02747, 2403.03206): a noisy
// sample is sigma * noise + (1 - sigma) * picture, the network gives noise - picture.
#include <ATen/TensorOperators.h>

#include <cmath>

#include "schedulers/describe.hpp"
#include "schedulers/numpy_math.hpp"
#include "schedulers/sigma_schedule.hpp"

namespace omnirt {
namespace {

struct FlowMatchConfig {
  int64_t num_train_timesteps = 1000;
  double shift = 1.0;
  bool use_dynamic_shifting = false;  // shift by StepPlan::mu instead
  std::string time_shift_type = "exponential";
  bool invert_sigmas = false;
  std::optional<double> shift_terminal;  // null or 0: off
  SigmaSpreadConfig spread;
  bool stochastic_sampling = false;
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
    v("stochastic_sampling", self.stochastic_sampling);
    v("base_shift", self.base_shift);
    v("max_shift", self.max_shift);
    v("base_image_seq_len", self.base_image_seq_len);
    v("max_image_seq_len", self.max_image_seq_len);
  }
  void check(ConfigChecks& checks) const {
    checks.require(num_train_timesteps >= 2 && num_train_timesteps <= 100000, "num_train_timesteps",
                   num_train_timesteps, "a whole number from 2 to 100000 was expected");
    checks.require(shift > 0, "shift", shift, "a shift above 0 was expected");
    checks.one_of("time_shift_type", time_shift_type, {"exponential", "linear"});
    checks.require(!shift_terminal || (*shift_terminal >= 0 && *shift_terminal < 1),
                   "shift_terminal", shift_terminal.value_or(0), "from 0 to below 1 was expected");
    spread.check(checks);
  }
};

class FlowMatchEulerDiscrete final : public Scheduler {
 public:
  explicit FlowMatchEulerDiscrete(FlowMatchConfig config) : config_(std::move(config)) {}

  bool takes_even_levels() const override { return true; }

  void plan_run(const StepPlan& plan) override {
    std::vector<double> sigmas = plan_sigmas(plan);
    auto train_steps = static_cast<float>(config_.num_train_timesteps);
    sigmas_.clear();
    timesteps_.clear();
    for (double value : sigmas) {
      auto sigma = static_cast<float>(value);
      sigmas_.push_back(config_.invert_sigmas ? 1 - sigma : sigma);
      timesteps_.push_back(sigmas_.back() * train_steps);
    }
    sigmas_.push_back(config_.invert_sigmas ? 1.0F : 0.0F);
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    float sigma = sigmas_.at(index);
    float next = sigmas_.at(index + 1);
    if (!config_.stochastic_sampling) {
      return {sample + model_output * (next - sigma), std::nullopt};
    }
    Tensor original = sample - model_output * sigma;
    return {original * (1 - next) + draw_like(noise, sample) * next, original};
  }

  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override {
    float sigma = sigmas_.at(index);
    return noise * sigma + original * (1 - sigma);
  }

 private:
  std::vector<double> plan_sigmas(const StepPlan& plan) const {
    if (config_.use_dynamic_shifting && !plan.mu) refuse_dynamic_shifting();
    int64_t n = plan.num_inference_steps;
    std::vector<double> sigmas = plan.even_levels ? even_levels(n) : trained_levels(n);
    for (double& sigma : sigmas) {
      sigma = config_.use_dynamic_shifting
                  ? time_shift(sigma, *plan.mu, config_.time_shift_type == "exponential")
                  : shift_sigma(sigma, config_.shift);
    }
    if (config_.shift_terminal.value_or(0) != 0) {
      stretch_to_terminal(sigmas, *config_.shift_terminal);
    }
    if (config_.spread.spread() == SigmaSpread::table) return sigmas;
    return spread_sigmas(config_.spread, sigmas.front(), sigmas.back(), n);
  }

  // The reference shifts the ends when it is made and all levels here; so shift acts twice.
  std::vector<double> trained_levels(int64_t n) const {
    auto train_steps = static_cast<double>(config_.num_train_timesteps);
    std::vector<double> sigmas = np::linspace(end_sigma(config_.num_train_timesteps) * train_steps,
                                              end_sigma(1) * train_steps, n);
    for (double& sigma : sigmas) sigma /= train_steps;
    return sigmas;
  }

  // In fp32, as the reference takes sigmas that it is given.
  static std::vector<double> even_levels(int64_t n) {
    std::vector<double> sigmas = np::linspace(1.0, 1.0 / static_cast<double>(n), n);
    for (double& sigma : sigmas) sigma = static_cast<float>(sigma);
    return sigmas;
  }

  // In fp32, as the reference holds it.
  double end_sigma(int64_t train_step) const {
    float sigma = static_cast<float>(train_step) / static_cast<float>(config_.num_train_timesteps);
    if (config_.use_dynamic_shifting) return sigma;
    auto shift = static_cast<float>(config_.shift);
    auto less = static_cast<float>(config_.shift - 1);
    return shift * sigma / (1 + less * sigma);
  }

  FlowMatchConfig config_;
  std::vector<float> sigmas_;  // by call index, and the one after the last call
};

}  // namespace

SchedulerInfo flow_match_euler_discrete() {
  SchedulerInfo info = describe_scheduler<FlowMatchEulerDiscrete, FlowMatchConfig>(
      "FlowMatchEulerDiscreteScheduler",
      {"flow-match-euler-discrete", "flow-match-euler", "flow-euler"},
      "Euler's method for flow-matching models");
  info.made_for = SchedulerFor::flow_matching;
  return info;
}

}  // namespace omnirt
