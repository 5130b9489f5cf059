#pragma once
#include <span>
#include <vector>

#include "schedulers/noise_schedule.hpp"
#include "schedulers/prediction.hpp"
#include "schedulers/scheduler.hpp"
#include "schedulers/sigma_schedule.hpp"
#include "schedulers/timestep_spacing.hpp"

namespace omnirt {

// What schedulers in the sigma parametrisation (arXiv 2206.00364) share: a noisy sample is
// image + sigma * noise, and the network sees it divided by sqrt(sigma^2 + 1).
class SigmaScheduler : public Scheduler {
 public:
  double init_noise_sigma() const override;
  Tensor scale_model_input(const Tensor& sample, size_t index) override;
  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override;

 protected:
  // `table`: the sigma of each training step.
  SigmaScheduler(std::vector<float> table, const SpacingConfig& spacing, Prediction prediction)
      : table_(std::move(table)), spacing_(spacing), prediction_(prediction) {}

  // The image from the network's output for a sample at noise level sigma.
  Tensor predict_original(const Tensor& output, const Tensor& sample, float sigma) const;
  static Tensor scale_by(const Tensor& sample, float sigma);

  std::vector<float> table_;
  SpacingConfig spacing_;
  Prediction prediction_;
  std::vector<float> sigmas_;  // by call index, and the one after the last call
};

// Ancestral sampling: how a step from `from` to the lower `to` splits into `down`, to which it is
// solved, and `up`, the noise that is added afterwards (up^2 + down^2 = to^2).
struct AncestralStep {
  float up;
  float down;
};
AncestralStep ancestral_step(float from, float to);

// fp32 values as the doubles that a schedule is written in.
std::vector<double> as_fp32(std::span<const double> values);

}  // namespace omnirt
