#include "schedulers/sigma_scheduler.hpp"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

#include "base/ensure.hpp"

namespace omnirt {

double SigmaScheduler::init_noise_sigma() const {
  ensure(!sigmas_.empty(), "a scheduler was asked before set_timesteps");
  float highest = *std::max_element(sigmas_.begin(), sigmas_.end());
  if (spacing_.timestep_spacing != "leading") return highest;
  return torch_sqrt(highest * highest + 1);
}

Tensor SigmaScheduler::scale_by(const Tensor& sample, float sigma) {
  return sample / torch_sqrt(sigma * sigma + 1);
}

Tensor SigmaScheduler::scale_model_input(const Tensor& sample, size_t index) {
  return scale_by(sample, sigmas_.at(index));
}

Tensor SigmaScheduler::add_noise(const Tensor& original, const Tensor& noise, size_t index) const {
  return original + noise * sigmas_.at(index);
}

Tensor SigmaScheduler::predict_original(const Tensor& output, const Tensor& sample,
                                        float sigma) const {
  if (prediction_ == Prediction::sample) return output;
  if (prediction_ == Prediction::epsilon) return sample - output * sigma;
  float square = sigma * sigma + 1;
  return output * (-sigma / torch_sqrt(square)) + sample / square;
}

AncestralStep ancestral_step(float from, float to) {
  float up = torch_sqrt(to * to * (from * from - to * to) / (from * from));
  float rest = to * to - up * up;
  // down^2 is to^4 / from^2; where `to` is a tiny share of `from`, the difference above has lost
  // every digit of it and can even be negative.
  float down = rest > 0 ? torch_sqrt(rest) : to * (to / from);
  return {std::isfinite(up) ? up : 0.0F, down};
}

std::vector<double> as_fp32(std::span<const double> values) {
  std::vector<double> rounded;
  for (double value : values) rounded.push_back(static_cast<float>(value));
  return rounded;
}

}  // namespace omnirt
