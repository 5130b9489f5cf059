// Second-order steps through the middle of log sigma (k-diffusion's sample_dpm_2): two calls per
// step, one at the last.
#include <ATen/TensorOperators.h>

#include <cmath>

#include "schedulers/describe.hpp"
#include "schedulers/kdpm2.hpp"

namespace omnirt {
namespace {

class Kdpm2Discrete final : public Kdpm2Scheduler {
 public:
  using Kdpm2Scheduler::Kdpm2Scheduler;

  void plan_run(const StepPlan& plan) override {
    SigmaWalk walk = walk_steps(plan.num_inference_steps);
    std::vector<float> sigmas = with_last(walk.sigmas, 0);
    std::vector<float> middles;  // between each sigma and the next
    for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
      bool last = i + 2 == sigmas.size();
      middles.push_back(last ? 0.0F : middle(sigmas[i + 1], sigmas[i]));
    }
    interleave(walk, sigmas, middles);
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    size_t step = index / 2;
    if (!start_) return first_call(model_output, sample, step);
    float at = middles_.at(step);
    Tensor original = predict_original(model_output, sample, at);
    Tensor derivative = (sample - original) / at;
    return {take_start() + derivative * (step_sigmas_.at(step + 1) - step_sigmas_.at(step)),
            original};
  }
};

}  // namespace

SchedulerInfo kdpm2_discrete() {
  return describe_scheduler<Kdpm2Discrete, Kdpm2Config>(
      "KDPM2DiscreteScheduler", {"kdpm2-discrete", "kdpm2", "dpm2"},
      "second order through midpoints; two network calls per step");
}

}  // namespace omnirt
