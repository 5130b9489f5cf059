#include "schedulers/kdpm2.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/lerp.h>
#include <ATen/ops/log.h>
#include <ATen/ops/scalar_tensor.h>

#include "schedulers/numpy_math.hpp"

namespace omnirt {

void Kdpm2Config::check(ConfigChecks& checks) const {
  betas.check(checks);
  spread.check(checks);
  checks.one_of("prediction_type", prediction_type, {"epsilon", "v_prediction"});
  spacing.check(checks, betas.num_train_timesteps);
}

Kdpm2Scheduler::Kdpm2Scheduler(const Kdpm2Config& config)
    : SigmaScheduler(sigmas_of(make_alphas_cumprod(config.betas, ZeroSnr::off)), config.spacing,
                     parse_prediction(config.prediction_type)),
      spread_(config.spread) {}

SigmaWalk Kdpm2Scheduler::walk_steps(int64_t n) const {
  auto train_steps = static_cast<int64_t>(table_.size());
  SigmaWalk walk = walk_sigmas(spread_, table_, float_timesteps(spacing_, train_steps, n), n);
  if (spread_.spread() == SigmaSpread::karras) {
    for (double& t : walk.timesteps) t = np::round(t);
  }
  return walk;
}

float Kdpm2Scheduler::middle(float a, float b) {
  Tensor from = at::log(at::scalar_tensor(a, at::kFloat));
  Tensor to = at::log(at::scalar_tensor(b, at::kFloat));
  return at::exp(at::lerp(from, to, 0.5)).item<float>();
}

void Kdpm2Scheduler::interleave(const SigmaWalk& walk, std::span<const float> sigmas,
                                std::span<const float> middles) {
  std::vector<float> logs = log_sigmas(table_);
  step_sigmas_.assign(sigmas.begin(), sigmas.end());
  middles_.assign(middles.begin(), middles.end());
  sigmas_ = {sigmas.front()};
  timesteps_ = {walk.timesteps.front()};
  for (size_t i = 1; i < walk.timesteps.size(); ++i) {
    sigmas_.insert(sigmas_.end(), 2, sigmas[i]);
    timesteps_.push_back(sigma_to_t_fp32(middles[i - 1], logs));
    timesteps_.push_back(walk.timesteps[i]);
  }
  sigmas_.push_back(sigmas.back());
  start_.reset();
}

Tensor Kdpm2Scheduler::scale_model_input(const Tensor& sample, size_t index) {
  return scale_by(sample, start_ ? middles_.at(index / 2) : step_sigmas_.at(index / 2));
}

StepResult Kdpm2Scheduler::first_call(const Tensor& model_output, const Tensor& sample,
                                      size_t step) {
  float sigma = step_sigmas_.at(step);
  Tensor original = predict_original(model_output, sample, sigma);
  start_ = sample;
  return {sample + (sample - original) / sigma * (middles_.at(step) - sigma), original};
}

Tensor Kdpm2Scheduler::take_start() {
  Tensor start = std::move(*start_);
  start_.reset();
  return start;
}

}  // namespace omnirt
