// Heun's second-order method (arXiv 2206.00364, algorithm 1): two calls per step, one at the last.
#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>

#include "schedulers/describe.hpp"
#include "schedulers/heun_step.hpp"
#include "schedulers/sigma_scheduler.hpp"

namespace omnirt {
namespace {

struct HeunConfig {
  BetaConfig betas{.beta_start = 0.00085, .beta_end = 0.012};
  std::string prediction_type = "epsilon";
  SigmaSpreadConfig spread;
  bool clip_sample = false;
  double clip_sample_range = 1.0;
  SpacingConfig spacing;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("prediction_type", self.prediction_type);
    SigmaSpreadConfig::visit(self.spread, v);
    v("clip_sample", self.clip_sample);
    v("clip_sample_range", self.clip_sample_range);
    SpacingConfig::visit(self.spacing, v);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks, {"exp"});
    checks.one_of("prediction_type", prediction_type, {"epsilon", "sample", "v_prediction"});
    spread.check(checks);
    checks.require(clip_sample_range > 0, "clip_sample_range", clip_sample_range,
                   "a range above 0 was expected");
    spacing.check(checks, betas.num_train_timesteps);
  }
};

class HeunDiscrete final : public SigmaScheduler {
 public:
  explicit HeunDiscrete(HeunConfig config)
      : SigmaScheduler(sigmas_of(make_alphas_cumprod(config.betas, ZeroSnr::off)), config.spacing,
                       parse_prediction(config.prediction_type)),
        config_(std::move(config)) {}

  int64_t order() const override { return 2; }

  GivenLevels takes_levels() const override { return {.timesteps = true}; }

  void plan_run(const StepPlan& plan) override {
    int64_t n = plan.num_inference_steps;
    config_.spread.refuse_beside(plan.timesteps);
    std::vector<double> planned =
        plan.timesteps.empty() ? float_timesteps(spacing_, config_.betas.num_train_timesteps, n)
                               : fp32_timesteps(plan.timesteps, config_.betas.num_train_timesteps);
    SigmaWalk walk = walk_sigmas(config_.spread, table_, std::move(planned), n);
    std::vector<float> sigmas = with_last(walk.sigmas, 0);
    std::vector<double> timesteps = as_fp32(walk.timesteps);
    sigmas_ = {sigmas.front()};
    timesteps_ = {timesteps.front()};
    for (size_t i = 1; i < timesteps.size(); ++i) {
      sigmas_.insert(sigmas_.end(), 2, sigmas[i]);
      timesteps_.insert(timesteps_.end(), 2, timesteps[i]);
    }
    sigmas_.push_back(sigmas.back());
    heun_.begin_run();
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    float sigma = sigmas_.at(index);
    Tensor original = predict_original(model_output, sample, sigma);
    if (config_.clip_sample) {
      original = at::clamp(original, -config_.clip_sample_range, config_.clip_sample_range);
    }
    Tensor derivative = (sample - original) / sigma;
    return {heun_.advance(sample, derivative, sigmas_.at(index + 1) - sigma), original};
  }

  void visit_history(History& history) override { heun_.visit_history(history); }

 private:
  HeunConfig config_;
  HeunStep heun_;
};

}  // namespace

SchedulerInfo heun_discrete() {
  return describe_scheduler<HeunDiscrete, HeunConfig>(
      "HeunDiscreteScheduler", {"heun-discrete", "heun"},
      "Heun's method; two network calls per step, accurate at few steps");
}

}  // namespace omnirt
