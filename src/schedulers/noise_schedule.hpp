#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/config_checks.hpp"

namespace omnirt {

// The noise that a network was trained with, one level for each training step.
struct BetaConfig {
  double beta_start = 0.0001;
  double beta_end = 0.02;
  std::string beta_schedule = "linear";
  int64_t num_train_timesteps = 1000;
  std::optional<std::vector<double>> trained_betas = std::nullopt;  // instead of a schedule

  static void visit(auto& self, auto& v) {
    v("num_train_timesteps", self.num_train_timesteps);
    v("beta_start", self.beta_start);
    v("beta_end", self.beta_end);
    v("beta_schedule", self.beta_schedule);
    v("trained_betas", self.trained_betas);
  }
  // `more`: schedules that only this scheduler has, in addition to linear, scaled_linear and
  // squaredcos_cap_v2.
  void check(ConfigChecks& checks, const std::vector<std::string>& more = {}) const;
};

// Zero terminal SNR (arXiv 2305.08891): betas rescaled so that the last training step is pure
// noise. `tiny` puts 2^-24 where the rescaled signal is zero, for schedulers that divide by it.
enum class ZeroSnr { off, exact, tiny };

// The running product of 1 - beta, fp32, by training step: computed by the same ATen kernels as the
// reference, so equal to the bit on one machine.
std::vector<float> make_alphas_cumprod(const BetaConfig& config, ZeroSnr zero_snr);

// Noise-to-signal ratio sqrt((1 - a) / a) of each, fp32. Throws Unsupported where a is so small
// that the ratio is not finite.
std::vector<float> sigmas_of(const std::vector<float>& alphas_cumprod);

}  // namespace omnirt
