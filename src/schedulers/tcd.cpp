// Trajectory consistency distillation (arXiv 2402.19159): jump to a point of the trajectory beyond
// the next timestep, and add noise back up to it; how far beyond is eta, the paper's gamma.
#include <ATen/TensorOperators.h>

#include <fmt/format.h>

#include <cmath>

#include "schedulers/describe.hpp"
#include "schedulers/distilled_timesteps.hpp"
#include "schedulers/table_scheduler.hpp"

namespace omnirt {
namespace {

struct TcdConfig {
  BetaConfig betas{.beta_start = 0.00085, .beta_end = 0.012, .beta_schedule = "scaled_linear"};
  int64_t original_inference_steps = 50;  // the steps of the schedule that the model distilled
  std::string prediction_type = "epsilon";
  bool rescale_betas_zero_snr = false;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("original_inference_steps", self.original_inference_steps);
    v("prediction_type", self.prediction_type);
    v("rescale_betas_zero_snr", self.rescale_betas_zero_snr);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks);
    check_original_steps(checks, original_inference_steps, betas.num_train_timesteps);
    checks.one_of("prediction_type", prediction_type, {"epsilon", "sample", "v_prediction"});
  }
};

class Tcd final : public TableScheduler {
 public:
  explicit Tcd(const TcdConfig& config)
      : TableScheduler(
            make_alphas_cumprod(config.betas,
                                config.rescale_betas_zero_snr ? ZeroSnr::exact : ZeroSnr::off),
            {.prediction_type = config.prediction_type, .clip_sample = false}),
        original_steps_(config.original_inference_steps) {}

  bool uses_eta() const override { return true; }
  GivenLevels takes_levels() const override { return {.timesteps = true}; }

  void plan_run(const StepPlan& plan) override {
    if (plan.eta > 1) {
      throw Unsupported(
          Finding{"eta", fmt::format("{}", plan.eta), "a number from 0 to 1 was expected", ""});
    }
    eta_ = plan.eta;
    timesteps_ = plan.timesteps.empty()
                     ? distilled_timesteps(train_steps(), original_steps_, plan.num_inference_steps)
                     : whole_timesteps(plan.timesteps, train_steps());
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    bool last = index + 1 >= timesteps_.size();
    int64_t next = last ? 0 : timestep(index + 1);
    auto beyond =
        static_cast<int64_t>(std::floor(static_cast<float>(1 - eta_) * static_cast<float>(next)));
    float alpha = alpha_at(timestep(index));
    Tensor original = predict_original(model_output, sample, alpha);
    float alpha_beyond = alpha_at(beyond);
    Tensor noised = original * torch_sqrt(alpha_beyond) +
                    predict_epsilon(model_output, sample, alpha) * torch_sqrt(1 - alpha_beyond);
    if (eta_ == 0 || last) return {noised, original};
    float ratio = alpha_at(next) / alpha_beyond;
    Tensor drawn = draw_like(noise, model_output);
    return {noised * torch_sqrt(ratio) + drawn * torch_sqrt(1 - ratio), original};
  }

 private:
  int64_t original_steps_;
  double eta_ = 0;
};

}  // namespace

SchedulerInfo tcd() {
  SchedulerInfo info = describe_scheduler<Tcd, TcdConfig>(
      "TCDScheduler", {"tcd"},
      "for models distilled by trajectory consistency, at 2 to 8 steps; eta is the share of fresh "
      "noise");
  info.made_for = SchedulerFor::consistency;
  return info;
}

}  // namespace omnirt
