// Euler steps with the preconditioning of EDM (arXiv 2206.00364, algorithm 2, without churn).
#include <ATen/TensorOperators.h>

#include <cmath>

#include "schedulers/describe.hpp"
#include "schedulers/edm.hpp"
#include "schedulers/numpy_math.hpp"

namespace omnirt {
namespace {

class EdmEuler final : public EdmScheduler {
 public:
  explicit EdmEuler(EdmConfig config) : EdmScheduler(std::move(config)) {}

  void plan_run(const StepPlan& plan) override {
    int64_t n = plan.num_inference_steps;
    bool karras = config_.sigma_schedule == "karras";
    std::vector<float> sigmas = karras ? karras_sigmas(n) : exponential_sigmas(n);
    float last = config_.final_sigmas_type == "zero" ? 0.0F : sigmas.back();
    begin_run(std::move(sigmas), last);
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    float sigma = sigmas_.at(index);
    Tensor original = predict_original(model_output, sample, sigma);
    Tensor derivative = (sample - original) / sigma;
    return {sample + derivative * (sigmas_.at(index + 1) - sigma), original};
  }

 private:
  // Equation 5, in double.
  std::vector<float> karras_sigmas(int64_t n) const {
    double low = std::pow(config_.sigma_min, 1 / config_.rho);
    double high = std::pow(config_.sigma_max, 1 / config_.rho);
    std::vector<float> sigmas;
    for (double ramp : np::linspace(0, 1, n))
      sigmas.push_back(static_cast<float>(std::pow(high + ramp * (low - high), config_.rho)));
    return sigmas;
  }
};

}  // namespace

SchedulerInfo edm_euler() {
  SchedulerInfo info = describe_scheduler<EdmEuler, EdmConfig>(
      "EDMEulerScheduler", {"edm-euler"}, "Euler's method for models with EDM's preconditioning");
  info.made_for = SchedulerFor::edm;
  return info;
}

}  // namespace omnirt
