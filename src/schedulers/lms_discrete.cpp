// Linear multistep in sigma (k-diffusion's sample_lms), order 4.
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <array>
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
    // The reference's Karras spread is always between the table's ends here.
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

  void visit_history(History& history) override { history("derivatives", derivatives_); }

 private:
  static constexpr size_t max_order = 4;

  // The largest order up to `order` whose sigmas are all different.
  size_t distinct(size_t index, size_t order) const {
    for (size_t k = 1; k < order; ++k) {
      if (sigmas_[index - k] == sigmas_[index - k + 1]) return k;
    }
    return order;
  }

  // The Lagrange polynomial that is 1 at sigma[index - which] and 0 at the other sigmas.
  float basis(float tau, size_t index, size_t order, size_t which) const {
    float product = 1;
    for (size_t k = 0; k < order; ++k) {
      if (k == which) continue;
      float root = sigmas_[index - k];
      product *= (tau - root) / (sigmas_[index - which] - root);
    }
    return product;
  }

  // Its integral from sigma[index] to sigma[index + 1], by the Gauss-Kronrod rule of 21 points that
  // the reference's scipy.integrate.quad ends with here (QUADPACK's qk21): the rule is exact, but
  // the reference evaluates the polynomial in fp32, and its rounding is seen after many steps.
  double coefficient(size_t index, size_t order, size_t which) const {
    constexpr std::array<double, 11> nodes = {0.995657163025808080735527280689003,
                                              0.973906528517171720077964012084452,
                                              0.930157491355708226001207180059508,
                                              0.865063366688984510732096688423493,
                                              0.780817726586416897063717578345042,
                                              0.679409568299024406234327365114874,
                                              0.562757134668604683339000099272694,
                                              0.433395394129247190799265943165784,
                                              0.294392862701460198131126603103866,
                                              0.14887433898163121088482600112972,
                                              0.0};
    constexpr std::array<double, 11> weights = {
        0.011694638867371874278064396062192, 0.03255816230796472747881897245939,
        0.05475589657435199603138130024458,  0.07503967481091995276704314091619,
        0.093125454583697605535065465083366, 0.109387158802297641899210590325805,
        0.123491976262065851077958109585166, 0.134709217311473325928054001771707,
        0.142775938577060080797094273138717, 0.147739104901338491374841515972068,
        0.149445554002916905664936468389821};
    double from = sigmas_[index];
    double to = sigmas_.at(index + 1);
    double center = 0.5 * (from + to);
    double half = 0.5 * (to - from);
    auto value = [&](double tau) -> double {
      return basis(static_cast<float>(tau), index, order, which);
    };
    double sum = weights[10] * value(center);
    for (size_t first : {1, 0}) {  // the Gauss points, then Kronrod's
      for (size_t i = first; i < 10; i += 2) {
        sum += weights[i] * (value(center - half * nodes[i]) + value(center + half * nodes[i]));
      }
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
      "linear multistep of order 4; one network call per step");
}

}  // namespace omnirt
