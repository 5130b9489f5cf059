#include "schedulers/flow_match.hpp"

#include <ATen/TensorOperators.h>

#include "schedulers/numpy_math.hpp"

namespace omnirt {
namespace {

// In fp32, as the reference holds it.
double end_sigma(int64_t train_step, int64_t train_steps, double shift) {
  float sigma = static_cast<float>(train_step) / static_cast<float>(train_steps);
  if (shift == 1) return sigma;
  auto less = static_cast<float>(shift - 1);
  return static_cast<float>(shift) * sigma / (1 + less * sigma);
}

}  // namespace

void check_flow_training(ConfigChecks& checks, int64_t train_steps, double shift) {
  checks.require(train_steps >= 2 && train_steps <= 100000, "num_train_timesteps", train_steps,
                 "a whole number from 2 to 100000 was expected");
  checks.require(shift > 0, "shift", shift, "a shift above 0 was expected");
}

void FlowMatchConfig::check(ConfigChecks& checks) const {
  check_flow_training(checks, num_train_timesteps, shift);
  checks.one_of("time_shift_type", time_shift_type, {"exponential", "linear"});
  checks.require(!shift_terminal || (*shift_terminal >= 0 && *shift_terminal < 1), "shift_terminal",
                 shift_terminal.value_or(0), "from 0 to below 1 was expected");
  spread.check(checks);
}

std::vector<double> trained_flow_levels(int64_t train_steps, double shift, int64_t n) {
  auto steps = static_cast<double>(train_steps);
  std::vector<double> levels = np::linspace(end_sigma(train_steps, train_steps, shift) * steps,
                                            end_sigma(1, train_steps, shift) * steps, n);
  for (double& level : levels) level /= steps;
  return levels;
}

void FlowMatchScheduler::plan_run(const StepPlan& plan) {
  auto train_steps = static_cast<float>(config_.num_train_timesteps);
  sigmas_.clear();
  timesteps_.clear();
  for (double value : plan_sigmas(plan)) {
    auto sigma = static_cast<float>(value);
    sigmas_.push_back(config_.invert_sigmas ? 1 - sigma : sigma);
    timesteps_.push_back(sigmas_.back() * train_steps);
  }
  // Given timesteps are what the network receives, though the levels made of them are shifted.
  for (size_t i = 0; i < plan.timesteps.size() && !config_.invert_sigmas; ++i)
    timesteps_[i] = static_cast<float>(plan.timesteps[i]);
  sigmas_.push_back(config_.invert_sigmas ? 1.0F : 0.0F);
}

Tensor FlowMatchScheduler::add_noise(const Tensor& original, const Tensor& noise,
                                     size_t index) const {
  float sigma = sigmas_.at(index);
  return noise * sigma + original * (1 - sigma);
}

template <class Real>
std::vector<double> FlowMatchScheduler::shifted(const std::vector<double>& levels,
                                                const StepPlan& plan) const {
  std::vector<Real> sigmas(levels.begin(), levels.end());
  for (Real& sigma : sigmas) {
    sigma = config_.use_dynamic_shifting
                ? time_shift(sigma, *plan.mu, config_.time_shift_type == "exponential")
                : shift_sigma(sigma, config_.shift);
  }
  if (config_.shift_terminal.value_or(0) != 0) stretch_to_terminal(sigmas, *config_.shift_terminal);
  return {sigmas.begin(), sigmas.end()};
}

std::vector<double> FlowMatchScheduler::plan_sigmas(const StepPlan& plan) const {
  if (config_.use_dynamic_shifting && !plan.mu) refuse_dynamic_shifting();
  int64_t n = plan.num_inference_steps;
  std::vector<double> given = given_levels(plan), sigmas;
  if (given.empty()) {
    // The reference shifts the ends when it is made and all levels here; so shift acts twice.
    double end_shift = config_.use_dynamic_shifting ? 1.0 : config_.shift;
    sigmas = shifted<double>(trained_flow_levels(config_.num_train_timesteps, end_shift, n), plan);
  } else {
    sigmas = shifted<float>(given, plan);
  }
  if (config_.spread.spread() == SigmaSpread::table) return sigmas;
  return spread_sigmas(config_.spread, sigmas.front(), sigmas.back(), n);
}

// Levels from outside, in fp32 as the reference takes them; empty: none are given.
std::vector<double> FlowMatchScheduler::given_levels(const StepPlan& plan) const {
  std::vector<double> levels = plan.sigmas;
  if (levels.empty() && plan.timesteps.empty() && plan.even_levels) {
    double n = static_cast<double>(plan.num_inference_steps);
    levels = np::linspace(1.0, 1.0 / n, plan.num_inference_steps);
  }
  auto train_steps = static_cast<float>(config_.num_train_timesteps);
  for (size_t i = levels.size(); i < plan.timesteps.size(); ++i)
    levels.push_back(static_cast<float>(plan.timesteps[i]) / train_steps);
  const char* list = plan.sigmas.empty() ? "timesteps" : "sigmas";
  if (!levels.empty() && (levels.front() > 1 || levels.back() <= 0))
    refuse_given(list, "levels of noise above 0 and up to all of it were expected",
                 "give sigmas up to 1, timesteps up to num_train_timesteps");
  return levels;
}

}  // namespace omnirt
