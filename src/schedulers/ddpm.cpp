// Denoising diffusion probabilistic models (arXiv 2006.11239), algorithm 2.
#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/sqrt.h>
#include <fmt/format.h>

#include <algorithm>

#include "schedulers/describe.hpp"
#include "schedulers/table_scheduler.hpp"
#include "schedulers/timestep_spacing.hpp"

namespace omnirt {
namespace {

struct DdpmConfig {
  BetaConfig betas;
  OriginalConfig original;
  std::optional<std::string> variance_type = "fixed_small";  // null is fixed_small
  SpacingConfig spacing{.timestep_spacing = "leading"};
  bool rescale_betas_zero_snr = false;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    OriginalConfig::visit(self.original, v);
    v("variance_type", self.variance_type);
    SpacingConfig::visit(self.spacing, v);
    v("rescale_betas_zero_snr", self.rescale_betas_zero_snr);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks, {"laplace", "sigmoid"});
    original.check(checks);
    spacing.check(checks, betas.num_train_timesteps);
    // fixed_large_log is in the reference's list too, but takes the root of a logarithm below 0:
    // every image is NaN.
    if (variance_type) {
      checks.one_of("variance_type", *variance_type,
                    {"fixed_small", "fixed_small_log", "fixed_large", "learned", "learned_range"});
    }
  }
};

class Ddpm final : public TableScheduler {
 public:
  explicit Ddpm(DdpmConfig config)
      : TableScheduler(
            make_alphas_cumprod(config.betas,
                                config.rescale_betas_zero_snr ? ZeroSnr::exact : ZeroSnr::off),
            config.original),
        spacing_(std::move(config.spacing)),
        variance_type_(config.variance_type.value_or("fixed_small")) {}

  bool needs_predicted_variance() const override { return variance_type_.starts_with("learned"); }

  GivenLevels takes_levels() const override { return {.timesteps = true}; }

  void plan_run(const StepPlan& plan) override {
    timesteps_ = plan.timesteps.empty()
                     ? table_timesteps(spacing_, train_steps(), plan.num_inference_steps)
                     : whole_timesteps(plan.timesteps, train_steps());
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    auto [output, predicted_variance] = split(model_output, sample);
    int64_t t = timestep(index);
    float alpha = alpha_at(t);
    float alpha_prev = index + 1 < timesteps_.size() ? alpha_at(timestep(index + 1)) : 1.0F;
    float current_alpha = alpha / alpha_prev;
    float current_beta = 1 - current_alpha;
    Tensor original = predict_original(output, sample, alpha);
    float original_share = torch_sqrt(alpha_prev) * current_beta / (1 - alpha);
    float sample_share = torch_sqrt(current_alpha) * (1 - alpha_prev) / (1 - alpha);
    Tensor prev = original * original_share + sample * sample_share;
    if (t == 0) return {prev, original};
    float variance = std::max((1 - alpha_prev) / (1 - alpha) * current_beta, 1e-20F);
    Tensor drawn = draw_like(noise, output);
    if (needs_predicted_variance()) {
      return {prev + learned_deviation(predicted_variance, variance, current_beta) * drawn,
              original};
    }
    return {prev + drawn * deviation(variance, current_beta), original};
  }

 private:
  // The output, and the second half of its channels where that is the predicted variance.
  std::pair<Tensor, Tensor> split(const Tensor& model_output, const Tensor& sample) const {
    if (!needs_predicted_variance()) return {model_output, {}};
    if (model_output.size(1) != 2 * sample.size(1)) {
      throw Unsupported(Finding{
          "scheduler.variance_type", variance_type_,
          fmt::format("needs a network of {} output channels for samples of {}, but it has {}",
                      2 * sample.size(1), sample.size(1), model_output.size(1)),
          "use variance_type fixed_small"});
    }
    return {model_output.narrow(1, 0, sample.size(1)),
            model_output.narrow(1, sample.size(1), sample.size(1))};
  }

  float deviation(float variance, float current_beta) const {
    if (variance_type_ == "fixed_large") return torch_sqrt(current_beta);
    if (variance_type_ == "fixed_small_log") return torch_exp(0.5F * torch_log(variance));
    return torch_sqrt(variance);
  }

  // arXiv 2102.09672, equation 15: interpolated between the two bounds in the log domain.
  Tensor learned_deviation(const Tensor& predicted, float variance, float current_beta) const {
    if (variance_type_ == "learned") return at::sqrt(predicted);
    Tensor share = (predicted + 1) / 2;
    Tensor log_variance = share * torch_log(current_beta) + (1 - share) * torch_log(variance);
    return at::exp(log_variance * 0.5);
  }

  SpacingConfig spacing_;
  std::string variance_type_;
};

}  // namespace

SchedulerInfo ddpm() {
  return describe_scheduler<Ddpm, DdpmConfig>("DDPMScheduler", {"ddpm"},
                                              "the original ancestral sampler; wants many steps");
}

}  // namespace omnirt
