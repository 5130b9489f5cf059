#include "schedulers/prediction.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/abs.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/expm1.h>
#include <ATen/ops/log.h>
#include <ATen/ops/quantile.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/sqrt.h>

namespace omnirt {

Prediction parse_prediction(const std::string& name) {
  if (name == "sample" || name == "original_sample") return Prediction::sample;
  if (name == "v_prediction") return Prediction::v;
  return name == "flow_prediction" ? Prediction::flow : Prediction::epsilon;
}

void ClipConfig::check(ConfigChecks& checks) const {
  if (!thresholding) return;
  checks.require(dynamic_thresholding_ratio >= 0 && dynamic_thresholding_ratio <= 1,
                 "dynamic_thresholding_ratio", dynamic_thresholding_ratio,
                 "a share from 0 to 1 was expected");
  checks.require(sample_max_value > 0, "sample_max_value", sample_max_value,
                 "a value above 0 was expected");
}

Tensor threshold_sample(const Tensor& sample, const ClipConfig& config) {
  Tensor flat = sample.reshape({sample.size(0), -1});
  Tensor limit = at::quantile(flat.abs(), config.dynamic_thresholding_ratio, 1);
  limit = at::clamp(limit, 1, config.sample_max_value).unsqueeze(1);
  return (at::clamp(flat, -limit, limit) / limit).reshape(sample.sizes());
}

float torch_sqrt(float x) {
  return at::sqrt(at::scalar_tensor(x, at::kFloat)).item<float>();
}

float torch_log(float x) {
  return at::log(at::scalar_tensor(x, at::kFloat)).item<float>();
}

float torch_exp(float x) {
  return at::exp(at::scalar_tensor(x, at::kFloat)).item<float>();
}

float torch_expm1(float x) {
  return at::expm1(at::scalar_tensor(x, at::kFloat)).item<float>();
}

}  // namespace omnirt
