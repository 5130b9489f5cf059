// Euler steps that add fresh noise after each (k-diffusion's sample_euler_ancestral).
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/sigma_scheduler.hpp"

namespace omnirt {
namespace {

struct EulerAncestralConfig {
  BetaConfig betas;
  std::string prediction_type = "epsilon";
  SpacingConfig spacing;
  bool rescale_betas_zero_snr = false;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("prediction_type", self.prediction_type);
    SpacingConfig::visit(self.spacing, v);
    v("rescale_betas_zero_snr", self.rescale_betas_zero_snr);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks);
    checks.one_of("prediction_type", prediction_type, {"epsilon", "v_prediction"});
    spacing.check(checks, betas.num_train_timesteps);
  }
};

class EulerAncestralDiscrete final : public SigmaScheduler {
 public:
  explicit EulerAncestralDiscrete(const EulerAncestralConfig& config)
      : SigmaScheduler(
            sigmas_of(make_alphas_cumprod(
                config.betas, config.rescale_betas_zero_snr ? ZeroSnr::tiny : ZeroSnr::off)),
            config.spacing, parse_prediction(config.prediction_type)) {}

  void plan_run(const StepPlan& plan) override {
    int64_t n = plan.num_inference_steps;
    auto train_steps = static_cast<int64_t>(table_.size());
    SigmaWalk walk = walk_sigmas({}, table_, float_timesteps(spacing_, train_steps, n), n);
    sigmas_ = with_last(walk.sigmas, 0);
    timesteps_ = std::move(walk.timesteps);
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    float sigma = sigmas_.at(index);
    Tensor original = predict_original(model_output, sample, sigma);
    AncestralStep next = ancestral_step(sigma, sigmas_.at(index + 1));
    Tensor prev = sample + (sample - original) / sigma * (next.down - sigma);
    return {prev + draw_like(noise, model_output) * next.up, original};
  }
};

}  // namespace

SchedulerInfo euler_ancestral_discrete() {
  return describe_scheduler<EulerAncestralDiscrete, EulerAncestralConfig>(
      "EulerAncestralDiscreteScheduler", {"euler-ancestral-discrete", "euler-ancestral", "euler-a"},
      "Euler's method with fresh noise at every step; varied images that do not converge");
}

}  // namespace omnirt
