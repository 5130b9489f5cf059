// Denoising diffusion implicit models (arXiv 2010.02502), equations 12 and 16.
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "schedulers/describe.hpp"
#include "schedulers/table_scheduler.hpp"
#include "schedulers/timestep_spacing.hpp"

namespace omnirt {
namespace {

struct DdimConfig {
  BetaConfig betas;
  OriginalConfig original;
  bool set_alpha_to_one = true;  // the signal share after the last step: 1, or the table's first
  SpacingConfig spacing{.timestep_spacing = "leading"};
  bool rescale_betas_zero_snr = false;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    OriginalConfig::visit(self.original, v);
    v("set_alpha_to_one", self.set_alpha_to_one);
    SpacingConfig::visit(self.spacing, v);
    v("rescale_betas_zero_snr", self.rescale_betas_zero_snr);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks);
    original.check(checks);
    spacing.check(checks, betas.num_train_timesteps);
  }
};

class Ddim final : public TableScheduler {
 public:
  explicit Ddim(DdimConfig config)
      : TableScheduler(
            make_alphas_cumprod(config.betas,
                                config.rescale_betas_zero_snr ? ZeroSnr::exact : ZeroSnr::off),
            config.original),
        spacing_(std::move(config.spacing)),
        final_alpha_(config.set_alpha_to_one ? 1.0F : alphas_cumprod_.front()) {}

  bool uses_eta() const override { return true; }

  void plan_run(const StepPlan& plan) override {
    timesteps_ = table_timesteps(spacing_, train_steps(), plan.num_inference_steps);
    stride_ = train_steps() / plan.num_inference_steps;
    eta_ = plan.eta;
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    int64_t t = timestep(index);
    float alpha = alpha_at(t);
    // By the stride and not by the next timestep; they differ where the stride was rounded down.
    float alpha_prev = t >= stride_ ? alpha_at(t - stride_) : final_alpha_;
    Tensor original = predict_original(model_output, sample, alpha);
    float variance = (1 - alpha_prev) / (1 - alpha) * (1 - alpha / alpha_prev);
    float std_dev = static_cast<float>(eta_) * torch_sqrt(std::max(variance, 0.0F));
    float direction = torch_sqrt(std::max(1 - alpha_prev - std_dev * std_dev, 0.0F));
    Tensor prev = original * torch_sqrt(alpha_prev) +
                  predict_epsilon(model_output, sample, alpha) * direction;
    if (eta_ > 0) prev = prev + draw_like(noise, model_output) * std_dev;
    return {prev, original};
  }

 private:
  SpacingConfig spacing_;
  float final_alpha_;
  int64_t stride_ = 1;
  double eta_ = 0;
};

}  // namespace

SchedulerInfo ddim() {
  return describe_scheduler<Ddim, DdimConfig>(
      "DDIMScheduler", {"ddim"}, "implicit sampling; deterministic at eta 0, stochastic above");
}

}  // namespace omnirt
