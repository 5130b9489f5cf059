#pragma once
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedulers/config_checks.hpp"

namespace omnirt {

// How the noise levels (sigmas) of a run are spread.
enum class SigmaSpread {
  table,        // as the training schedule has them at the timesteps
  karras,       // arXiv 2206.00364, equation 5, rho 7
  exponential,  // evenly in log sigma
  beta,         // by the quantiles of Beta(0.6, 0.6) (arXiv 2407.12173)
};

struct SigmaSpreadConfig {
  bool use_karras_sigmas = false;
  bool use_exponential_sigmas = false;
  bool use_beta_sigmas = false;
  std::optional<double> sigma_min = std::nullopt;  // the ends of a spread; the table's unless given
  std::optional<double> sigma_max = std::nullopt;

  static void visit(auto& self, auto& v) {
    v("use_karras_sigmas", self.use_karras_sigmas);
    v("use_exponential_sigmas", self.use_exponential_sigmas);
    v("use_beta_sigmas", self.use_beta_sigmas);
    v("sigma_min", self.sigma_min);
    v("sigma_max", self.sigma_max);
  }
  void check(ConfigChecks& checks) const;
  SigmaSpread spread() const;
  // Throws Unsupported for timesteps from outside with a spread, which has timesteps of its own.
  void refuse_beside(const std::vector<double>& timesteps) const;
};

// n sigmas from the noisiest down; `first` and `last` are the ends where the config has none.
// Throws Unsupported where sigma_min is above sigma_max. `spread` is not table.
std::vector<double> spread_sigmas(const SigmaSpreadConfig& config, double first, double last,
                                  int64_t n);

// np::log of each.
std::vector<float> log_sigmas(std::span<const float> sigmas);

// The (fractional) training step whose noise level is sigma; the second one computes in fp32, as
// the reference does where its sigma is a tensor.
double sigma_to_t(double sigma, std::span<const float> log_sigmas);
float sigma_to_t_fp32(float sigma, std::span<const float> log_sigmas);

// What the sigma-based schedulers have in common: the table's sigma at each of `timesteps`, or a
// spread between the first and the last of those, whose timesteps then replace the given ones.
struct SigmaWalk {
  std::vector<double> timesteps;
  std::vector<double> sigmas;
};
SigmaWalk walk_sigmas(const SigmaSpreadConfig& config, std::span<const float> table,
                      std::vector<double> timesteps, int64_t n);

// The same for multistep solvers: a spread between the ends of the whole table.
SigmaWalk walk_whole_table(const SigmaSpreadConfig& config, std::span<const float> table,
                           std::vector<double> timesteps, int64_t n);

// Noise levels of flow models, shifted towards noise: shift s / (1 + (shift - 1) s).
// Real is the type that it is computed in; the reference's is fp32 for levels that it is given.
template <class Real>
Real shift_sigma(Real sigma, double shift) {
  return static_cast<Real>(shift) * sigma / (1 + static_cast<Real>(shift - 1) * sigma);
}
// n levels from the noisiest down of a solver whose last step ends at none (arXiv 2209.03003).
std::vector<double> flow_sigmas(int64_t train_steps, int64_t n, double shift);
// Shift by a function of the image size: exponential e^mu / (e^mu + 1/s - 1), or linear with mu.
template <class Real>
Real time_shift(Real sigma, double mu, bool exponential) {
  auto weight = static_cast<Real>(exponential ? std::exp(mu) : mu);
  return weight / (weight + (1 / sigma - 1));
}
// use_dynamic_shifting without a mu: throws Unsupported.
[[noreturn]] void refuse_dynamic_shifting();
// Stretched so that the last level is `terminal`; a schedule of noise alone stays as it is.
template <class Real>
void stretch_to_terminal(std::vector<Real>& sigmas, double terminal) {
  Real scale = (1 - sigmas.back()) / static_cast<Real>(1 - terminal);
  if (scale <= 0) return;
  for (Real& sigma : sigmas) sigma = 1 - (1 - sigma) / scale;
}

// sigmas and then `last`, in fp32.
std::vector<float> with_last(std::span<const double> sigmas, double last);

}  // namespace omnirt
