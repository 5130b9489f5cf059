#include "schedulers/edm.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linspace.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedulers/prediction.hpp"

namespace omnirt {

void EdmConfig::check(ConfigChecks& checks) const {
  checks.require(sigma_min > 0, "sigma_min", sigma_min, "a sigma above 0 was expected");
  checks.require(std::isfinite(sigma_max) && sigma_max > sigma_min, "sigma_max", sigma_max,
                 fmt::format("a sigma above sigma_min, {}, was expected", sigma_min));
  checks.require(std::isfinite(sigma_data) && sigma_data > 0, "sigma_data", sigma_data,
                 "a deviation above 0 was expected");
  checks.require(std::isfinite(rho) && rho > 0, "rho", rho, "a number above 0 was expected");
  checks.one_of("sigma_schedule", sigma_schedule, {"karras", "exponential"});
  checks.one_of("prediction_type", prediction_type, {"epsilon", "v_prediction"});
  checks.one_of("final_sigmas_type", final_sigmas_type, {"zero", "sigma_min"});
}

double EdmScheduler::init_noise_sigma() const {
  return std::sqrt(config_.sigma_max * config_.sigma_max + 1);
}

Tensor EdmScheduler::scale_model_input(const Tensor& sample, size_t index) {
  float sigma = sigmas_.at(index);
  auto data = static_cast<float>(config_.sigma_data * config_.sigma_data);
  return sample * (1 / torch_sqrt(sigma * sigma + data));
}

Tensor EdmScheduler::add_noise(const Tensor& original, const Tensor& noise, size_t index) const {
  return original + noise * sigmas_.at(index);
}

void EdmScheduler::begin_run(std::vector<float> sigmas, float last) {
  timesteps_.clear();
  for (float sigma : sigmas) timesteps_.push_back(0.25F * torch_log(sigma));
  sigmas_ = std::move(sigmas);
  sigmas_.push_back(last);
}

std::vector<float> EdmScheduler::exponential_sigmas(int64_t n) const {
  Tensor rising = at::exp(
      at::linspace(std::log(config_.sigma_min), std::log(config_.sigma_max), n, at::kFloat));
  const float* data = rising.const_data_ptr<float>();
  std::vector<float> sigmas(data, data + n);
  std::reverse(sigmas.begin(), sigmas.end());
  return sigmas;
}

Tensor EdmScheduler::predict_original(const Tensor& output, const Tensor& sample,
                                      float sigma) const {
  auto square = static_cast<float>(config_.sigma_data * config_.sigma_data);
  float both = sigma * sigma + square;
  float out = sigma * static_cast<float>(config_.sigma_data) / torch_sqrt(both);
  return sample * (square / both) +
         output * (config_.prediction_type == "v_prediction" ? -out : out);
}

}  // namespace omnirt
