#include "schedulers/table_scheduler.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>

#include <cmath>

#include "base/ensure.hpp"

namespace omnirt {

void OriginalConfig::check(ConfigChecks& checks) const {
  checks.one_of("prediction_type", prediction_type, {"epsilon", "sample", "v_prediction"});
  checks.require(clip_sample_range > 0, "clip_sample_range", clip_sample_range,
                 "a range above 0 was expected");
  clip.check(checks);
}

float TableScheduler::alpha_at(int64_t timestep) const {
  ensure(timestep >= 0 && timestep < train_steps(), "timestep {} of {} training steps", timestep,
         train_steps());
  return alphas_cumprod_[static_cast<size_t>(timestep)];
}

Tensor TableScheduler::add_noise(const Tensor& original, const Tensor& noise, size_t index) const {
  float alpha = alpha_at(timestep(index));
  return original * torch_sqrt(alpha) + noise * torch_sqrt(1 - alpha);
}

Tensor TableScheduler::predict_original(const Tensor& output, const Tensor& sample,
                                        float alpha) const {
  bool clipped = config_.clip_sample && !config_.clip.thresholding;
  Tensor original = output;
  if (prediction_ == Prediction::v) {
    original = sample * torch_sqrt(alpha) - output * torch_sqrt(1 - alpha);
  } else if (prediction_ == Prediction::epsilon) {
    // Under zero terminal SNR the first step holds no signal to divide by. Clipping makes its
    // infinities +-range, as in the reference; else it gets the share that the sigma-based
    // schedulers use (the reference yields NaN).
    float share = alpha == 0 && !clipped ? std::ldexp(1.0F, -24) : alpha;
    original = (sample - output * torch_sqrt(1 - share)) / torch_sqrt(share);
  }
  if (config_.clip.thresholding) return threshold_sample(original, config_.clip);
  if (!config_.clip_sample) return original;
  return at::clamp(original, -config_.clip_sample_range, config_.clip_sample_range);
}

Tensor TableScheduler::predict_epsilon(const Tensor& output, const Tensor& sample,
                                       float alpha) const {
  if (prediction_ == Prediction::epsilon) return output;
  if (prediction_ == Prediction::v) {
    return output * torch_sqrt(alpha) + sample * torch_sqrt(1 - alpha);
  }
  return (sample - output * torch_sqrt(alpha)) / torch_sqrt(1 - alpha);
}

}  // namespace omnirt
