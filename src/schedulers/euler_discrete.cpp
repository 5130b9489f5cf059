// Euler steps along the probability flow (arXiv 2206.00364, algorithm 2, without churn).
#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/linspace.h>

#include "schedulers/describe.hpp"
#include "schedulers/numpy_math.hpp"
#include "schedulers/sigma_scheduler.hpp"

namespace omnirt {
namespace {

struct EulerConfig {
  BetaConfig betas;
  std::string prediction_type = "epsilon";
  std::string interpolation_type = "linear";  // of sigmas between training steps
  SpacingConfig spacing;
  SigmaSpreadConfig spread;
  std::string timestep_type = "discrete";  // continuous: the network gets log(sigma) / 4
  std::string final_sigmas_type = "zero";
  bool rescale_betas_zero_snr = false;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("prediction_type", self.prediction_type);
    v("interpolation_type", self.interpolation_type);
    SpacingConfig::visit(self.spacing, v);
    SigmaSpreadConfig::visit(self.spread, v);
    v("timestep_type", self.timestep_type);
    v("final_sigmas_type", self.final_sigmas_type);
    v("rescale_betas_zero_snr", self.rescale_betas_zero_snr);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks);
    checks.one_of("prediction_type", prediction_type,
                  {"epsilon", "sample", "original_sample", "v_prediction"});
    checks.one_of("interpolation_type", interpolation_type, {"linear", "log_linear"});
    spacing.check(checks, betas.num_train_timesteps);
    spread.check(checks);
    checks.one_of("timestep_type", timestep_type, {"discrete", "continuous"});
    checks.one_of("final_sigmas_type", final_sigmas_type, {"zero", "sigma_min"});
  }
};

class EulerDiscrete final : public SigmaScheduler {
 public:
  explicit EulerDiscrete(EulerConfig config)
      : SigmaScheduler(
            sigmas_of(make_alphas_cumprod(
                config.betas, config.rescale_betas_zero_snr ? ZeroSnr::tiny : ZeroSnr::off)),
            config.spacing, parse_prediction(config.prediction_type)),
        config_(std::move(config)) {}

  GivenLevels takes_levels() const override {
    return {.timesteps = true, .sigmas = true, .with_end = true};
  }

  void plan_run(const StepPlan& plan) override {
    SigmaWalk walk = plan.sigmas.empty() ? walk_schedule(plan) : walk_given(plan.sigmas);
    bool to_zero = config_.final_sigmas_type == "zero";
    double last = to_zero ? 0.0 : table_.front();
    sigmas_ = with_last(walk.sigmas, plan.sigmas.empty() ? last : plan.sigmas.back());
    if (config_.timestep_type == "continuous" && prediction_ == Prediction::v) {
      timesteps_.clear();
      for (size_t i = 0; i + 1 < sigmas_.size(); ++i) {
        timesteps_.push_back(0.25F * torch_log(sigmas_[i]));
      }
    } else {
      timesteps_ = as_fp32(walk.timesteps);
    }
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    float sigma = sigmas_.at(index);
    Tensor original = predict_original(model_output, sample, sigma);
    Tensor derivative = (sample - original) / sigma;
    return {sample + derivative * (sigmas_.at(index + 1) - sigma), original};
  }

 private:
  SigmaWalk walk_schedule(const StepPlan& plan) const {
    int64_t n = plan.num_inference_steps;
    config_.spread.refuse_beside(plan.timesteps);
    bool told_sigmas = config_.timestep_type == "continuous" && prediction_ == Prediction::v;
    if (told_sigmas && !plan.timesteps.empty())
      refuse_given("timesteps", "timestep_type continuous has its own", "give sigmas");
    std::vector<double> timesteps =
        plan.timesteps.empty() ? float_timesteps(spacing_, config_.betas.num_train_timesteps, n)
                               : fp32_timesteps(plan.timesteps, config_.betas.num_train_timesteps);
    if (config_.interpolation_type == "linear") {
      return walk_sigmas(config_.spread, table_, std::move(timesteps), n);
    }
    SigmaWalk walk{std::move(timesteps), log_linear_sigmas(n)};
    if (config_.spread.spread() == SigmaSpread::table) return walk;
    // A spread takes its ends from sigmas alone, whichever way those were interpolated.
    walk.sigmas = spread_sigmas(config_.spread, walk.sigmas.front(), walk.sigmas.back(), n);
    walk.timesteps.clear();
    std::vector<float> logs = log_sigmas(table_);
    for (double sigma : walk.sigmas) walk.timesteps.push_back(sigma_to_t(sigma, logs));
    return walk;
  }

  // The run's own sigmas, of which the last is stepped to; whatever spread the config has.
  SigmaWalk walk_given(const std::vector<double>& sigmas) const {
    SigmaWalk walk;
    std::vector<float> logs = log_sigmas(table_);
    for (size_t i = 0; i + 1 < sigmas.size(); ++i) {
      auto sigma = static_cast<float>(sigmas[i]);
      walk.sigmas.push_back(sigma);
      walk.timesteps.push_back(sigma_to_t_fp32(sigma, logs));
    }
    return walk;
  }

  // The reference makes n + 1 of them, of which the last is stepped to.
  std::vector<double> log_linear_sigmas(int64_t n) const {
    Tensor sigmas =
        at::exp(at::linspace(np::log(table_.back()), np::log(table_.front()), n + 1, at::kFloat));
    const float* data = sigmas.const_data_ptr<float>();
    return {data, data + sigmas.numel()};
  }

  EulerConfig config_;
};

}  // namespace

SchedulerInfo euler_discrete() {
  return describe_scheduler<EulerDiscrete, EulerConfig>(
      "EulerDiscreteScheduler", {"euler-discrete", "euler"},
      "Euler's method; deterministic, a good first choice at 20 to 30 steps");
}

}  // namespace omnirt
