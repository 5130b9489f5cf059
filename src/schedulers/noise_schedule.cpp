#include "schedulers/noise_schedule.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cumprod.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tensor/tensor.hpp"

namespace omnirt {
namespace {

using AlphaBar = double (*)(double);

double cosine_alpha_bar(double t) {
  double c = std::cos((t + 0.008) / 1.008 * std::numbers::pi / 2);
  return c * c;
}

double exp_alpha_bar(double t) {
  return std::exp(t * -12.0);
}

double laplace_alpha_bar(double t) {
  double lambda = -0.5 * std::copysign(1.0, 0.5 - t) * std::log(1 - 2 * std::abs(0.5 - t) + 1e-6);
  double snr = std::exp(lambda);
  return std::sqrt(snr / (1 + snr));
}

// arXiv 2102.09672, section 3.2: betas from the signal level that each step should leave.
Tensor betas_from(AlphaBar alpha_bar, int64_t n) {
  constexpr double max_beta = 0.999;
  std::vector<float> betas;
  for (int64_t i = 0; i < n; ++i) {
    double t1 = static_cast<double>(i) / static_cast<double>(n);
    double t2 = static_cast<double>(i + 1) / static_cast<double>(n);
    betas.push_back(static_cast<float>(std::min(1 - alpha_bar(t2) / alpha_bar(t1), max_beta)));
  }
  return at::tensor(betas);
}

Tensor make_betas(const BetaConfig& config) {
  int64_t n = config.num_train_timesteps;
  if (config.trained_betas) {
    return at::tensor(
        std::vector<float>(config.trained_betas->begin(), config.trained_betas->end()));
  }
  const std::string& schedule = config.beta_schedule;
  if (schedule == "squaredcos_cap_v2") return betas_from(cosine_alpha_bar, n);
  if (schedule == "exp") return betas_from(exp_alpha_bar, n);
  if (schedule == "laplace") return betas_from(laplace_alpha_bar, n);
  if (schedule == "sigmoid") {
    return at::sigmoid(at::linspace(-6, 6, n, at::kFloat)) * (config.beta_end - config.beta_start) +
           config.beta_start;
  }
  if (schedule == "scaled_linear") {
    return at::pow(at::linspace(std::pow(config.beta_start, 0.5), std::pow(config.beta_end, 0.5), n,
                                at::kFloat),
                   2);
  }
  return at::linspace(config.beta_start, config.beta_end, n, at::kFloat);
}

// arXiv 2305.08891, algorithm 1.
Tensor rescale_zero_terminal_snr(const Tensor& betas) {
  Tensor root = at::sqrt(at::cumprod(at::rsub(betas, 1.0), 0));
  Tensor first = root[0].clone();
  Tensor last = root[-1].clone();
  root = (root - last) * (first / (first - last));
  Tensor product = at::pow(root, 2);
  Tensor alphas = product.slice(0, 1) / product.slice(0, 0, -1);
  return at::rsub(at::cat({product.slice(0, 0, 1), alphas}), 1.0);
}

}  // namespace

void BetaConfig::check(ConfigChecks& checks, const std::vector<std::string>& more) const {
  checks.require(num_train_timesteps >= 2 && num_train_timesteps <= 100000, "num_train_timesteps",
                 num_train_timesteps, "a whole number from 2 to 100000 was expected");
  if (trained_betas) {
    checks.require(static_cast<int64_t>(trained_betas->size()) == num_train_timesteps,
                   "trained_betas", fmt::format("{} values", trained_betas->size()),
                   fmt::format("num_train_timesteps is {}", num_train_timesteps),
                   "give one beta for each training step");
    bool legal = std::all_of(trained_betas->begin(), trained_betas->end(),
                             [](double beta) { return beta > 0 && beta <= 1; });
    checks.require(legal, "trained_betas", *trained_betas, "betas lie above 0 and up to 1");
    return;
  }
  std::vector<std::string> known = {"linear", "scaled_linear", "squaredcos_cap_v2"};
  known.insert(known.end(), more.begin(), more.end());
  checks.one_of("beta_schedule", beta_schedule, known);
  checks.require(beta_start > 0 && beta_start < 1, "beta_start", beta_start,
                 "a beta lies between 0 and 1");
  checks.require(beta_end > 0 && beta_end < 1, "beta_end", beta_end, "a beta lies between 0 and 1");
}

std::vector<float> make_alphas_cumprod(const BetaConfig& config, ZeroSnr zero_snr) {
  Tensor betas = make_betas(config);
  if (zero_snr != ZeroSnr::off) betas = rescale_zero_terminal_snr(betas);
  Tensor product = at::cumprod(at::rsub(betas, 1.0), 0).contiguous();
  const float* data = product.const_data_ptr<float>();
  std::vector<float> alphas(data, data + product.numel());
  if (zero_snr == ZeroSnr::tiny) alphas.back() = std::ldexp(1.0F, -24);
  return alphas;
}

std::vector<float> sigmas_of(const std::vector<float>& alphas_cumprod) {
  Tensor alphas = at::tensor(alphas_cumprod);
  // Not std::sqrt: torch's square root is another in the last bit now and then.
  Tensor sigmas = at::pow(at::rsub(alphas, 1) / alphas, 0.5).contiguous();
  const float* data = sigmas.const_data_ptr<float>();
  std::vector<float> table(data, data + sigmas.numel());
  for (size_t i = 0; i < table.size(); ++i) {
    if (std::isfinite(table[i]) && table[i] > 0) continue;
    throw Unsupported(Finding{"scheduler.beta_schedule", fmt::format("{}", alphas_cumprod[i]),
                              "the betas leave a share of signal that is not above 0 and below 1",
                              "use smaller betas, or rescale_betas_zero_snr where the scheduler "
                              "has it"});
  }
  return table;
}

}  // namespace omnirt
