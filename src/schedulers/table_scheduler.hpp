#pragma once
#include <vector>

#include "schedulers/noise_schedule.hpp"
#include "schedulers/prediction.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {

// The keys that schedulers over a table of alphas_cumprod share in addition to their betas.
struct OriginalConfig {
  std::string prediction_type = "epsilon";
  bool clip_sample = true;  // the predicted image to +- clip_sample_range, without thresholding
  double clip_sample_range = 1.0;
  ClipConfig clip{};

  static void visit(auto& self, auto& v) {
    v("prediction_type", self.prediction_type);
    v("clip_sample", self.clip_sample);
    v("clip_sample_range", self.clip_sample_range);
    ClipConfig::visit(self.clip, v);
  }
  void check(ConfigChecks& checks) const;
};

// What schedulers share whose timesteps are whole training steps and whose noisy samples are
// sqrt(a) image + sqrt(1 - a) noise, a by a table (arXiv 2006.11239).
class TableScheduler : public Scheduler {
 public:
  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override;

 protected:
  TableScheduler(std::vector<float> alphas_cumprod, OriginalConfig config)
      : alphas_cumprod_(std::move(alphas_cumprod)),
        config_(std::move(config)),
        prediction_(parse_prediction(config_.prediction_type)) {}

  int64_t train_steps() const { return static_cast<int64_t>(alphas_cumprod_.size()); }
  int64_t timestep(size_t index) const { return static_cast<int64_t>(timesteps_.at(index)); }
  float alpha_at(int64_t timestep) const;
  // The image from the network's output for a sample with the signal share alpha, clipped as the
  // config says.
  Tensor predict_original(const Tensor& output, const Tensor& sample, float alpha) const;

  // The noise from the network's output, before any limit on the image.
  Tensor predict_epsilon(const Tensor& output, const Tensor& sample, float alpha) const;

  std::vector<float> alphas_cumprod_;
  OriginalConfig config_;
  Prediction prediction_;
};

}  // namespace omnirt
