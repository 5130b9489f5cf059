#include <ATen/TensorOperators.h>

#include "pipeline/plugin.hpp"
#include "schedulers/describe.hpp"
#include "schedulers/sigma_scheduler.hpp"

using namespace omnirt;

// What it reads of scheduler_config.json and of the request's scheduler_config.
struct AdamsBashforthConfig {
  BetaConfig betas;
  std::string prediction_type = "epsilon";
  SpacingConfig spacing;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("prediction_type", self.prediction_type);
    SpacingConfig::visit(self.spacing, v);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks);
    checks.one_of("prediction_type", prediction_type, {"epsilon", "v_prediction"});
    spacing.check(checks, betas.num_train_timesteps);
  }
};

// Two-step Adams-Bashforth: Euler's method with the slope of the step before.
class AdamsBashforth final : public SigmaScheduler {
 public:
  explicit AdamsBashforth(const AdamsBashforthConfig& config)
      : SigmaScheduler(sigmas_of(make_alphas_cumprod(config.betas, ZeroSnr::off)), config.spacing,
                       parse_prediction(config.prediction_type)) {}

  void plan_run(const StepPlan& plan) override {
    const int64_t n = plan.num_inference_steps;
    const auto train_steps = static_cast<int64_t>(table_.size());
    SigmaWalk walk = walk_sigmas({}, table_, float_timesteps(spacing_, train_steps, n), n);
    sigmas_ = with_last(walk.sigmas, 0);  // the noise at each call, and at the end
    timesteps_ = std::move(walk.timesteps);
    before_.reset();
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    const float sigma = sigmas_.at(index), width = sigmas_.at(index + 1) - sigma;
    const Tensor original = predict_original(model_output, sample, sigma);
    const Tensor slope = (sample - original) / sigma;
    Tensor mean = slope;
    if (before_) mean = slope + (slope - *before_) * (width / (sigma - sigmas_.at(index - 1)) / 2);
    before_ = slope;
    return {sample + mean * width, original};
  }

  // What a run that is cut in two must save.
  void visit_history(History& history) override { history("before", before_); }

 private:
  std::optional<Tensor> before_;  // the slope of the step before, in this run
};

extern "C" Plugin omnirt_plugin() {
  return {.name = "adams_bashforth", .add = [](Catalogue& catalogue) {
            catalogue.schedulers.push_back(describe_scheduler<AdamsBashforth, AdamsBashforthConfig>(
                "AdamsBashforthScheduler", {"ab2"}, "two-step Adams-Bashforth"));
          }};
}
