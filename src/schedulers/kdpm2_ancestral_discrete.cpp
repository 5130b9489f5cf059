// As kdpm2_discrete.cpp, with fresh noise after each step (k-diffusion's sample_dpm_2_ancestral).
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/kdpm2.hpp"

namespace omnirt {
namespace {

class Kdpm2AncestralDiscrete final : public Kdpm2Scheduler {
 public:
  using Kdpm2Scheduler::Kdpm2Scheduler;

  void plan_run(const StepPlan& plan) override {
    SigmaWalk walk = walk_steps(plan.num_inference_steps);
    std::vector<float> sigmas = with_last(walk.sigmas, 0);
    std::vector<float> middles;
    steps_.clear();
    for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
      steps_.push_back(ancestral_step(sigmas[i], sigmas[i + 1]));
      bool last = i + 2 == sigmas.size();
      middles.push_back(last ? 0.0F : middle(sigmas[i], steps_.back().down));
    }
    interleave(walk, sigmas, middles);
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    size_t step = index / 2;
    if (!start_) return first_call(model_output, sample, step);
    float at = middles_.at(step);
    Tensor original = predict_original(model_output, sample, at);
    Tensor derivative = (sample - original) / at;
    Tensor prev = take_start() + derivative * (steps_.at(step).down - step_sigmas_.at(step));
    return {prev + draw_like(noise, model_output) * steps_.at(step).up, original};
  }

 private:
  std::vector<AncestralStep> steps_;
};

}  // namespace

SchedulerInfo kdpm2_ancestral_discrete() {
  return describe_scheduler<Kdpm2AncestralDiscrete, Kdpm2Config>(
      "KDPM2AncestralDiscreteScheduler",
      {"kdpm2-ancestral-discrete", "kdpm2-ancestral", "kdpm2-a", "dpm2-ancestral"},
      "second order through midpoints with fresh noise at every step");
}

}  // namespace omnirt
