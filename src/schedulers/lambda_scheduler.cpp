#include "schedulers/lambda_scheduler.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/tensor.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace omnirt {

void SolverConfig::check(ConfigChecks& checks, int64_t max_order) const {
  betas.check(checks);
  checks.require(solver_order >= 1 && solver_order <= max_order, "solver_order", solver_order,
                 fmt::format("an order from 1 to {} was expected", max_order));
  clip.check(checks);
  spread.check(checks);
  checks.require(flow_shift > 0, "flow_shift", flow_shift, "a shift above 0 was expected");
}

double SolverConfig::shift(const StepPlan& plan) const {
  return use_dynamic_shifting && plan.mu ? std::exp(*plan.mu) : flow_shift;
}

int64_t LambdaScheduler::usable_steps(double lambda_min) const {
  if (lambda_min == -std::numeric_limits<double>::infinity()) return train_steps();
  Tensor alphas = at::tensor(alphas_cumprod_);
  Tensor lambdas = at::log(at::sqrt(alphas)) - at::log(at::sqrt(at::rsub(alphas, 1)));
  const float* data = lambdas.const_data_ptr<float>();
  return std::count_if(data, data + lambdas.numel(), [&](float v) { return v >= lambda_min; });
}

LambdaScheduler::Point LambdaScheduler::make_point(float sigma) const {
  Point point{};
  point.alpha = solver_.use_flow_sigmas ? 1 - sigma : 1 / torch_sqrt(sigma * sigma + 1);
  point.sigma = solver_.use_flow_sigmas ? sigma : sigma * point.alpha;
  point.lambda = torch_log(point.alpha) - torch_log(point.sigma);
  return point;
}

SigmaWalk LambdaScheduler::walk_table(const SpacingConfig& spacing, int64_t usable,
                                      int64_t n) const {
  std::vector<double> timesteps;
  if (solver_.spread.spread() == SigmaSpread::table) {
    timesteps = solver_timesteps(spacing, train_steps(), usable, n);
  }
  return walk_whole_table(solver_.spread, table_, std::move(timesteps), n);
}

SigmaWalk LambdaScheduler::walk_given(const std::vector<double>& timesteps) const {
  solver_.spread.refuse_beside(timesteps);
  if (solver_.use_flow_sigmas)
    refuse_given("timesteps", "use_flow_sigmas has timesteps of its own", "turn it off");
  return walk_whole_table(solver_.spread, table_, whole_timesteps(timesteps, train_steps()),
                          static_cast<int64_t>(timesteps.size()));
}

SigmaWalk LambdaScheduler::walk_flow(const StepPlan& plan) const {
  SigmaWalk walk;
  walk.sigmas = flow_sigmas(train_steps(), plan.num_inference_steps, solver_.shift(plan));
  for (double sigma : walk.sigmas) {
    walk.timesteps.push_back(sigma * static_cast<double>(train_steps()));
  }
  return walk;
}

void LambdaScheduler::begin_run(std::span<const double> timesteps, std::vector<float> sigmas) {
  timesteps_.clear();
  for (double t : timesteps) timesteps_.push_back(std::trunc(t));
  sigmas_ = std::move(sigmas);
  points_.clear();
  for (float sigma : sigmas_) {
    if (solver_.use_flow_sigmas && sigma >= 1) {
      throw Unsupported(
          Finding{"scheduler.use_flow_sigmas", "true",
                  fmt::format("flow sigmas lie below 1, but this spread has {}", sigma),
                  "use no Karras, exponential, beta or lu spread with it, or give "
                  "sigma_max below 1"});
    }
    points_.push_back(make_point(sigma));
  }
  outputs_.clear();
}

Tensor LambdaScheduler::add_noise(const Tensor& original, const Tensor& noise, size_t index) const {
  return original * point(index).alpha + noise * point(index).sigma;
}

Tensor LambdaScheduler::predict_original(const Tensor& output, size_t index,
                                         const Tensor& sample) const {
  const Point& at = point(index);
  Tensor original = output;
  if (prediction_ == Prediction::epsilon) original = (sample - output * at.sigma) / at.alpha;
  if (prediction_ == Prediction::v) original = sample * at.alpha - output * at.sigma;
  if (prediction_ == Prediction::flow) original = sample - output * sigmas_.at(index);
  return solver_.clip.thresholding ? threshold_sample(original, solver_.clip) : original;
}

Tensor LambdaScheduler::predict_epsilon(const Tensor& output, size_t index,
                                        const Tensor& sample) const {
  const Point& at = point(index);
  if (prediction_ == Prediction::v) return output * at.alpha + sample * at.sigma;
  if (prediction_ == Prediction::sample) return (sample - output * at.alpha) / at.sigma;
  return output;
}

void LambdaScheduler::remember(Tensor output) {
  remember_output(outputs_, std::move(output), solver_.solver_order);
}

size_t LambdaScheduler::usable_outputs(size_t index, size_t wanted) const {
  return omnirt::usable_outputs(points_, index, std::min(wanted, outputs_.size()));
}

void remember_output(std::vector<Tensor>& outputs, Tensor output, int64_t most) {
  if (outputs.size() == static_cast<size_t>(most)) outputs.erase(outputs.begin());
  outputs.push_back(std::move(output));
}

size_t usable_outputs(std::span<const LambdaPoint> points, size_t index, size_t known) {
  for (size_t k = 1; k < known; ++k) {
    if (points[index - k].lambda == points[index - k + 1].lambda) return k;
  }
  return known;
}

}  // namespace omnirt
