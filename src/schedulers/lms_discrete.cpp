// Linear multistep in sigma (k-diffusion's sample_lms), order 4.
#include <ATen/TensorOperators.h>

#include <cmath>
#include <deque>

#include "schedulers/describe.hpp"
#include "schedulers/sigma_scheduler.hpp"

namespace omnirt {
namespace {

struct LmsConfig {
  BetaConfig betas;
  SigmaSpreadConfig spread;
  std::string prediction_type = "epsilon";
  SpacingConfig spacing;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    SigmaSpreadConfig::visit(self.spread, v);
    v("prediction_type", self.prediction_type);
    SpacingConfig::visit(self.spacing, v);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks);
    spread.check(checks);
    checks.one_of("prediction_type", prediction_type, {"epsilon", "sample", "v_prediction"});
    spacing.check(checks, betas.num_train_timesteps);
  }
};

class LmsDiscrete final : public SigmaScheduler {
 public:
  explicit LmsDiscrete(const LmsConfig& config)
      : SigmaScheduler(sigmas_of(make_alphas_cumprod(config.betas, ZeroSnr::off)), config.spacing,
                       parse_prediction(config.prediction_type)),
        spread_(config.spread) {
    // The reference's Karras spread always lies between the table's ends here.
    if (spread_.use_karras_sigmas) spread_.sigma_min = spread_.sigma_max = std::nullopt;
  }

  void plan_run(const StepPlan& plan) override {
    int64_t n = plan.num_inference_steps;
    auto train_steps = static_cast<int64_t>(table_.size());
    SigmaWalk walk = walk_sigmas(spread_, table_, float_timesteps(spacing_, train_steps, n), n);
    sigmas_ = with_last(walk.sigmas, 0);
    timesteps_ = as_fp32(walk.timesteps);
    derivatives_.clear();
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    float sigma = sigmas_.at(index);
    Tensor original = predict_original(model_output, sample, sigma);
    derivatives_.push_front((sample - original) / sigma);
    if (derivatives_.size() > max_order) derivatives_.pop_back();
    // By the place in the schedule, not by what is known yet: so image2image's first steps use the
    // first coefficients of a higher order, as the reference does.
    size_t order = distinct(index, std::min(index + 1, max_order));
    Tensor change = derivatives_[0] * coefficient(index, order, 0);
    for (size_t i = 1; i < std::min(order, derivatives_.size()); ++i) {
      change = change + derivatives_[i] * coefficient(index, order, i);
    }
    return {sample + change, original};
  }

 private:
  static constexpr size_t max_order = 4;

  // The largest order up to `order` whose sigmas are all different.
  size_t distinct(size_t index, size_t order) const {
    for (size_t k = 1; k < order; ++k) {
      if (sigmas_[index - k] == sigmas_[index - k + 1]) return k;
    }
    return order;
  }

  // The integral from sigma[index] to sigma[index + 1] of the Lagrange polynomial that is 1 at
  // sigma[index - which] and 0 at the other sigmas. Gauss's two points are exact up to degree 3.
  double coefficient(size_t index, size_t order, size_t which) const {
    double from = sigmas_[index];
    double half = (sigmas_.at(index + 1) - from) / 2;
    double sum = 0;
    for (double node : {-1 / std::sqrt(3.0), 1 / std::sqrt(3.0)}) {
      double tau = from + half * (1 + node);
      double product = 1;
      for (size_t k = 0; k < order; ++k) {
        if (k == which) continue;
        double root = sigmas_[index - k];
        product *= (tau - root) / (sigmas_[index - which] - root);
      }
      sum += product;
    }
    return sum * half;
  }

  SigmaSpreadConfig spread_;
  std::deque<Tensor> derivatives_;  // the latest first
};

}  // namespace

SchedulerInfo lms_discrete() {
  return describe_scheduler<LmsDiscrete, LmsConfig>(
      "LMSDiscreteScheduler", {"lms-discrete", "lms"},
      "linear multistep of order 4; one network call a step");
}

}  // namespace omnirt
