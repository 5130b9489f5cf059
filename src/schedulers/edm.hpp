#pragma once
#include <string>
#include <vector>

#include "schedulers/config_checks.hpp"
#include "schedulers/scheduler.hpp"

namespace omnirt {

// The keys that schedulers of EDM (arXiv 2206.00364) share.
struct EdmConfig {
  double sigma_min = 0.002;
  double sigma_max = 80.0;
  double sigma_data = 0.5;  // the standard deviation of the data
  std::string sigma_schedule = "karras";
  int64_t num_train_timesteps = 1000;
  std::string prediction_type = "epsilon";
  double rho = 7.0;
  std::string final_sigmas_type = "zero";

  static void visit(auto& self, auto& v) {
    v("sigma_min", self.sigma_min);
    v("sigma_max", self.sigma_max);
    v("sigma_data", self.sigma_data);
    v("sigma_schedule", self.sigma_schedule);
    v("num_train_timesteps", self.num_train_timesteps);
    v("prediction_type", self.prediction_type);
    v("rho", self.rho);
    v("final_sigmas_type", self.final_sigmas_type);
  }
  void check(ConfigChecks& checks) const;
};

// What those schedulers share: a noisy sample is image + sigma * noise; the network gets it times
// c_in, and c_noise; c_out is its output's scale, c_skip the sample's (the paper's table 1).
class EdmScheduler : public Scheduler {
 public:
  double init_noise_sigma() const override;
  Tensor scale_model_input(const Tensor& sample, size_t index) override;
  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override;

 protected:
  explicit EdmScheduler(EdmConfig config) : config_(std::move(config)) {}

  // Sets up a run over `sigmas`, fp32, from the noisiest down, that ends at `last`.
  void begin_run(std::vector<float> sigmas, float last);
  // n sigmas evenly in log sigma.
  std::vector<float> exponential_sigmas(int64_t n) const;
  // The image from the network's output for a sample at noise level sigma.
  Tensor predict_original(const Tensor& output, const Tensor& sample, float sigma) const;

  EdmConfig config_;
  std::vector<float> sigmas_;  // by call index, and the one after the last call
};

}  // namespace omnirt
