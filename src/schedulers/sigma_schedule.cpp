#include "schedulers/sigma_schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedulers/incomplete_beta.hpp"
#include "schedulers/numpy_math.hpp"

namespace omnirt {
namespace {

double karras(double ramp, double first, double last) {
  constexpr double rho = 7.0;
  double max_root = std::pow(first, 1 / rho);
  double min_root = std::pow(last, 1 / rho);
  return std::pow(max_root + ramp * (min_root - max_root), rho);
}

SigmaWalk spread_walk(const SigmaSpreadConfig& config, std::span<const float> table, double first,
                      double last, int64_t n) {
  SigmaWalk walk;
  walk.sigmas = spread_sigmas(config, first, last, n);
  std::vector<float> logs = log_sigmas(table);
  for (double sigma : walk.sigmas) walk.timesteps.push_back(sigma_to_t(sigma, logs));
  return walk;
}

std::vector<double> table_sigmas(std::span<const float> table, std::span<const double> timesteps) {
  std::vector<double> sigmas;
  for (double t : timesteps) sigmas.push_back(np::interp(t, table));
  return sigmas;
}

// Real is the type that the weight is computed in.
template <class Real>
Real interpolate_t(Real log_sigma, std::span<const float> logs) {
  size_t low = 0;
  for (size_t i = 0; i < logs.size(); ++i) {
    if (log_sigma >= logs[i]) low = i;
  }
  low = std::min(low, logs.size() - 2);
  Real span = logs[low] - logs[low + 1];
  Real weight = std::clamp((logs[low] - log_sigma) / span, Real{0}, Real{1});
  return (1 - weight) * static_cast<Real>(low) + weight * static_cast<Real>(low + 1);
}

}  // namespace

void SigmaSpreadConfig::check(ConfigChecks& checks) const {
  int chosen = int{use_karras_sigmas} + int{use_exponential_sigmas} + int{use_beta_sigmas};
  checks.require(
      chosen <= 1, use_karras_sigmas ? "use_karras_sigmas" : "use_exponential_sigmas", true,
      "only one of use_karras_sigmas, use_exponential_sigmas and use_beta_sigmas can be true",
      "set the others to false");
  if (sigma_min) {
    checks.require(*sigma_min > 0, "sigma_min", *sigma_min, "a sigma above 0 was expected");
  }
  if (sigma_max) {
    checks.require(*sigma_max > 0, "sigma_max", *sigma_max, "a sigma above 0 was expected");
  }
}

SigmaSpread SigmaSpreadConfig::spread() const {
  if (use_karras_sigmas) return SigmaSpread::karras;
  if (use_exponential_sigmas) return SigmaSpread::exponential;
  return use_beta_sigmas ? SigmaSpread::beta : SigmaSpread::table;
}

void SigmaSpreadConfig::refuse_beside(const std::vector<double>& timesteps) const {
  if (timesteps.empty() || spread() == SigmaSpread::table) return;
  refuse_given("timesteps", "Karras, exponential and beta sigmas have timesteps of their own",
               "turn them off in scheduler_config, or give no timesteps");
}

std::vector<double> spread_sigmas(const SigmaSpreadConfig& config, double first, double last,
                                  int64_t n) {
  last = config.sigma_min.value_or(last);
  first = config.sigma_max.value_or(first);
  if (n > 1 && last > first) {
    throw Unsupported(Finding{"scheduler.sigma_min", fmt::format("{}", last),
                              fmt::format("the sigmas would rise: sigma_max is {}", first),
                              "give a sigma_min below sigma_max"});
  }
  std::vector<double> sigmas = np::linspace(0, 1, n);
  if (config.spread() == SigmaSpread::exponential) {
    sigmas = np::linspace(std::log(first), std::log(last), n);
  }
  for (double& sigma : sigmas) {
    switch (config.spread()) {
      case SigmaSpread::karras:
        sigma = karras(sigma, first, last);
        break;
      case SigmaSpread::exponential:
        sigma = std::exp(sigma);
        break;
      case SigmaSpread::beta:
        sigma = last + beta_quantile(1 - sigma, 0.6, 0.6) * (first - last);
        break;
      case SigmaSpread::table:
        break;
    }
  }
  return sigmas;
}

std::vector<float> log_sigmas(std::span<const float> sigmas) {
  std::vector<float> logs;
  for (float sigma : sigmas) logs.push_back(np::log(sigma));
  return logs;
}

double sigma_to_t(double sigma, std::span<const float> log_sigmas) {
  return interpolate_t<double>(std::log(std::max(sigma, 1e-10)), log_sigmas);
}

float sigma_to_t_fp32(float sigma, std::span<const float> log_sigmas) {
  return interpolate_t<float>(np::log(std::max(sigma, 1e-10F)), log_sigmas);
}

SigmaWalk walk_sigmas(const SigmaSpreadConfig& config, std::span<const float> table,
                      std::vector<double> timesteps, int64_t n) {
  SigmaWalk walk{std::move(timesteps), {}};
  walk.sigmas = table_sigmas(table, walk.timesteps);
  if (config.spread() == SigmaSpread::table) return walk;
  return spread_walk(config, table, walk.sigmas.front(), walk.sigmas.back(), n);
}

SigmaWalk walk_whole_table(const SigmaSpreadConfig& config, std::span<const float> table,
                           std::vector<double> timesteps, int64_t n) {
  if (config.spread() != SigmaSpread::table) {
    return spread_walk(config, table, table.back(), table.front(), n);
  }
  SigmaWalk walk{std::move(timesteps), {}};
  walk.sigmas = table_sigmas(table, walk.timesteps);
  return walk;
}

std::vector<double> flow_sigmas(int64_t train_steps, int64_t n, double shift) {
  std::vector<double> alphas = np::linspace(1, 1 / static_cast<double>(train_steps), n + 1);
  std::vector<double> sigmas;
  for (size_t i = alphas.size() - 1; i > 0; --i) {
    sigmas.push_back(shift_sigma(1.0 - alphas[i], shift));
  }
  return sigmas;
}

void refuse_dynamic_shifting() {
  throw Unsupported(Finding{"scheduler.use_dynamic_shifting", "true",
                            "this pipeline gives no shift (mu) that depends on the image size",
                            "set use_dynamic_shifting to false and give shift or flow_shift"});
}

std::vector<float> with_last(std::span<const double> sigmas, double last) {
  std::vector<float> values(sigmas.begin(), sigmas.end());
  values.push_back(static_cast<float>(last));
  return values;
}

}  // namespace omnirt
