// Pseudo numerical methods (arXiv 2202.09778): Runge-Kutta warm-up, then linear multistep, both
// through the transfer of equation 9.
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "schedulers/describe.hpp"
#include "schedulers/table_scheduler.hpp"
#include "schedulers/timestep_spacing.hpp"

namespace omnirt {
namespace {

struct PndmConfig {
  BetaConfig betas;
  bool skip_prk_steps = false;  // no Runge-Kutta warm-up (12 calls)
  bool set_alpha_to_one = false;
  std::string prediction_type = "epsilon";
  SpacingConfig spacing{.timestep_spacing = "leading"};

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("skip_prk_steps", self.skip_prk_steps);
    v("set_alpha_to_one", self.set_alpha_to_one);
    v("prediction_type", self.prediction_type);
    SpacingConfig::visit(self.spacing, v);
  }
  void check(ConfigChecks& checks) const {
    betas.check(checks);
    checks.one_of("prediction_type", prediction_type, {"epsilon", "v_prediction"});
    spacing.check(checks, betas.num_train_timesteps);
  }
};

class Pndm final : public TableScheduler {
 public:
  explicit Pndm(PndmConfig config)
      : TableScheduler(make_alphas_cumprod(config.betas, ZeroSnr::off),
                       {.prediction_type = config.prediction_type, .clip_sample = false}),
        own_(std::move(config)),
        final_alpha_(own_.set_alpha_to_one ? 1.0F : alphas_cumprod_.front()) {}

  void plan_run(const StepPlan& plan) override {
    int64_t n = plan.num_inference_steps;
    std::vector<double> base = table_timesteps(own_.spacing, train_steps(), n);
    stride_ = train_steps() / n;
    calls_ = 0;
    outputs_.clear();
    warm_up_.clear();
    if (own_.skip_prk_steps) {
      timesteps_ = base;
      // The second timestep is called twice: its first result only improves the first step.
      if (base.size() > 1) timesteps_.insert(timesteps_.begin() + 1, base[1]);
      return;
    }
    if (base.size() < 4) {
      refuse_steps(n, "the Runge-Kutta warm-up needs at least 4 steps",
                   "use 4 or more, or skip_prk_steps true");
    }
    plan_warm_up(base);
    timesteps_ = warm_up_;
    timesteps_.insert(timesteps_.end(), base.begin() + 3, base.end());
    if (timesteps_.front() >= static_cast<double>(train_steps())) {
      refuse_steps(n, "the warm-up's first timestep is past the last training step");
    }
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    Tensor prev = calls_ < warm_up_.size() ? warm_up_step(model_output, timestep(index), sample)
                                           : multistep(model_output, timestep(index), sample);
    ++calls_;
    return {prev, std::nullopt};
  }

  void visit_history(History& history) override {
    history("calls", calls_);
    history("outputs", outputs_);
    history("slope_sum", slope_sum_);
    history("start_sample", start_sample_);
  }

 private:
  // Four calls per step: at its start, twice in its middle, at its end.
  void plan_warm_up(const std::vector<double>& base) {
    auto half = static_cast<double>(stride_ / 2);
    std::vector<double> points;
    for (size_t i = 0; i < 4; ++i) {
      if (i > 0) points.push_back(base[i] + half);
      points.push_back(base[i]);
    }
    for (size_t i = 0; i < points.size(); ++i) {
      bool end = i == 0 || i + 1 == points.size();
      warm_up_.insert(warm_up_.end(), end ? 1 : 2, points[i]);
    }
  }

  Tensor warm_up_step(const Tensor& output, int64_t t, const Tensor& sample) {
    int64_t prev = calls_ % 2 == 1 ? t : t - stride_ / 2;
    auto start = static_cast<int64_t>(warm_up_[calls_ / 4 * 4]);
    Tensor slope = output;
    switch (calls_ % 4) {
      case 0:
        slope_sum_ = output * (1.0 / 6);
        outputs_.push_back(output);
        start_sample_ = sample;
        break;
      case 3:
        slope = slope_sum_ + output * (1.0 / 6);
        break;
      default:
        slope_sum_ = slope_sum_ + output * (1.0 / 3);
    }
    return transfer(start_sample_, start, prev, slope);
  }

  Tensor multistep(const Tensor& output, int64_t t, const Tensor& sample) {
    if (calls_ == 1) {
      Tensor slope = (output + outputs_.back()) / 2;
      return transfer(start_sample_, t + stride_, t, slope);
    }
    if (calls_ == 0) start_sample_ = sample;
    if (outputs_.size() == 4) outputs_.erase(outputs_.begin());
    outputs_.push_back(output);
    return transfer(sample, t, t - stride_, multistep_slope());
  }

  // Adams-Bashforth of the order that the outputs so far allow.
  Tensor multistep_slope() const {
    size_t n = outputs_.size();
    auto e = [&](size_t back) -> const Tensor& { return outputs_[n - back]; };
    if (n == 1) return e(1);
    if (n == 2) return (e(1) * 3 - e(2)) / 2;
    if (n == 3) return (e(1) * 23 - e(2) * 16 + e(3) * 5) / 12;
    return (e(1) * 55 - e(2) * 59 + e(3) * 37 - e(4) * 9) * (1.0 / 24);
  }

  Tensor transfer(const Tensor& sample, int64_t t, int64_t prev, Tensor output) const {
    float alpha = alpha_at(std::clamp<int64_t>(t, 0, train_steps() - 1));
    float alpha_prev = prev >= 0 ? alpha_at(prev) : final_alpha_;
    float beta = 1 - alpha;
    if (prediction_ == Prediction::v) {
      output = output * torch_sqrt(alpha) + sample * torch_sqrt(beta);
    }
    float scale = alpha * torch_sqrt(1 - alpha_prev) + torch_sqrt(alpha * beta * alpha_prev);
    return sample * torch_sqrt(alpha_prev / alpha) - output * (alpha_prev - alpha) / scale;
  }

  PndmConfig own_;
  float final_alpha_;
  int64_t stride_ = 1;
  size_t calls_ = 0;  // of this run, wherever it began
  std::vector<double> warm_up_;
  std::vector<Tensor> outputs_;  // up to four, the latest last
  Tensor slope_sum_;
  Tensor start_sample_;
};

}  // namespace

SchedulerInfo pndm() {
  return describe_scheduler<Pndm, PndmConfig>(
      "PNDMScheduler", {"pndm", "plms"},
      "linear multistep on pseudo-derivatives; one more call than steps");
}

}  // namespace omnirt
