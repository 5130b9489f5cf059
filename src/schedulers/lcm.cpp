// Latent consistency models (arXiv 2310.04378), algorithm 1: jump to the image, add noise, again.
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/distilled_timesteps.hpp"
#include "schedulers/table_scheduler.hpp"
#include "schedulers/timestep_spacing.hpp"

namespace omnirt {
namespace {

struct LcmConfig {
  BetaConfig betas{.beta_start = 0.00085, .beta_end = 0.012, .beta_schedule = "scaled_linear"};
  int64_t original_inference_steps = 50;  // the steps of the schedule that the model distilled
  OriginalConfig original{.clip_sample = false};
  double timestep_scaling = 10.0;
  bool rescale_betas_zero_snr = false;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("original_inference_steps", self.original_inference_steps);
    OriginalConfig::visit(self.original, v);
    v("timestep_scaling", self.timestep_scaling);
    v("rescale_betas_zero_snr", self.rescale_betas_zero_snr);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks);
    check_original_steps(checks, original_inference_steps, betas.num_train_timesteps);
    original.check(checks);
  }
};

class Lcm final : public TableScheduler {
 public:
  explicit Lcm(const LcmConfig& config)
      : TableScheduler(
            make_alphas_cumprod(config.betas,
                                config.rescale_betas_zero_snr ? ZeroSnr::exact : ZeroSnr::off),
            config.original),
        original_steps_(config.original_inference_steps),
        scaling_(config.timestep_scaling) {}

  GivenLevels takes_levels() const override { return {.timesteps = true}; }

  void plan_run(const StepPlan& plan) override {
    timesteps_ = plan.timesteps.empty()
                     ? distilled_timesteps(train_steps(), original_steps_, plan.num_inference_steps)
                     : whole_timesteps(plan.timesteps, train_steps());
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    Tensor original = predict_original(model_output, sample, alpha_at(timestep(index)));
    // The boundary condition: at timestep 0 the sample itself is the image.
    constexpr float data_variance = 0.25F;
    float scaled = static_cast<float>(timesteps_[index]) * static_cast<float>(scaling_);
    float square = scaled * scaled + data_variance;
    Tensor denoised = original * (scaled / torch_sqrt(square)) + sample * (data_variance / square);
    if (index + 1 >= timesteps_.size()) return {denoised, denoised};
    float alpha = alpha_at(timestep(index + 1));
    Tensor drawn = draw_like(noise, model_output);
    return {denoised * torch_sqrt(alpha) + drawn * torch_sqrt(1 - alpha), denoised};
  }

 private:
  int64_t original_steps_;
  double scaling_;
};

}  // namespace

SchedulerInfo lcm() {
  SchedulerInfo info = describe_scheduler<Lcm, LcmConfig>(
      "LCMScheduler", {"lcm"}, "for consistency-distilled models, at 2 to 8 steps");
  info.made_for = SchedulerFor::consistency;
  return info;
}

}  // namespace omnirt
