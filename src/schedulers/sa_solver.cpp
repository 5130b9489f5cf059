// SA-Solver (arXiv 2309.05019): stochastic Adams, a predictor and a corrector, with fresh noise in
// the middle of the schedule.
#include <ATen/TensorOperators.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedulers/describe.hpp"
#include "schedulers/lambda_scheduler.hpp"
#include "schedulers/numpy_math.hpp"
#include "schedulers/sa_coefficients.hpp"

namespace omnirt {
namespace {

struct SaSolverConfig {
  BetaConfig betas;
  int64_t predictor_order = 2;
  int64_t corrector_order = 2;
  std::string prediction_type = "epsilon";
  ClipConfig clip;
  std::string algorithm_type = "data_prediction";
  bool lower_order_final = true;
  SigmaSpreadConfig spread;
  bool use_flow_sigmas = false;
  double flow_shift = 1.0;
  std::optional<double> lambda_min_clipped;  // null: minus infinity
  std::optional<std::string> variance_type;  // learned, learned_range: the network predicts it too
  SpacingConfig spacing;

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("predictor_order", self.predictor_order);
    v("corrector_order", self.corrector_order);
    v("prediction_type", self.prediction_type);
    ClipConfig::visit(self.clip, v);
    v("algorithm_type", self.algorithm_type);
    v("lower_order_final", self.lower_order_final);
    SigmaSpreadConfig::visit(self.spread, v);
    v("use_flow_sigmas", self.use_flow_sigmas);
    v("flow_shift", self.flow_shift);
    v("lambda_min_clipped", self.lambda_min_clipped);
    v("variance_type", self.variance_type);
    SpacingConfig::visit(self.spacing, v);
  }
  bool predicts_original() const { return algorithm_type == "data_prediction"; }
  bool learned_variance() const {
    return prediction_type == "epsilon" &&
           (variance_type == "learned" || variance_type == "learned_range");
  }
  // How many earlier outputs the orders look at.
  int64_t remembered() const { return std::max(predictor_order, corrector_order - 1); }

  void check(ConfigChecks& checks) const {
    solver().check(checks, 4);
    checks.require(predictor_order >= 1 && predictor_order <= 4, "predictor_order", predictor_order,
                   "an order from 1 to 4 was expected");
    checks.require(corrector_order >= 1 && corrector_order <= 4, "corrector_order", corrector_order,
                   "an order from 1 to 4 was expected");
    checks.one_of("algorithm_type", algorithm_type, {"data_prediction", "noise_prediction"});
    checks.one_of("prediction_type", prediction_type,
                  {"epsilon", "sample", "v_prediction", "flow_prediction"});
    checks.require(predicts_original() || prediction_type != "flow_prediction", "prediction_type",
                   prediction_type, "algorithm_type noise_prediction does not have it",
                   "use algorithm_type data_prediction");
    checks.require(predicts_original() || !clip.thresholding, "thresholding", true,
                   "algorithm_type noise_prediction does not have it",
                   "use algorithm_type data_prediction");
    spacing.check(checks, betas.num_train_timesteps);
  }

  SolverConfig solver() const {
    SolverConfig solver;
    solver.betas = betas;
    solver.solver_order = std::clamp<int64_t>(remembered(), 1, 4);
    solver.prediction_type = prediction_type;
    solver.clip = clip;
    solver.lower_order_final = lower_order_final;
    solver.spread = spread;
    solver.use_flow_sigmas = use_flow_sigmas;
    solver.flow_shift = flow_shift;
    return solver;
  }
};

class SaSolver final : public LambdaScheduler {
 public:
  explicit SaSolver(SaSolverConfig config)
      : LambdaScheduler(make_alphas_cumprod(config.betas, ZeroSnr::off), config.solver()),
        config_(std::move(config)),
        alphas_(make_alphas_cumprod(config_.betas, ZeroSnr::off)),
        usable_(usable_steps(
            config_.lambda_min_clipped.value_or(-std::numeric_limits<double>::infinity()))) {
    if (usable_ < 1) {
      throw Unsupported(Finding{"scheduler.lambda_min_clipped",
                                fmt::format("{}", config_.lambda_min_clipped.value_or(0)),
                                "no training step is left below it", "give a smaller value"});
    }
  }

  bool needs_predicted_variance() const override { return config_.learned_variance(); }

  void plan_run(const StepPlan& plan) override {
    SigmaSpread spread = solver_.spread.spread();
    bool flow = solver_.use_flow_sigmas && spread == SigmaSpread::table;
    SigmaWalk walk =
        flow ? walk_flow(plan) : walk_table(config_.spacing, usable_, plan.num_inference_steps);
    if (spread == SigmaSpread::karras) {
      for (double& t : walk.timesteps) t = np::round(t);
    }
    // A spread's last step stays where it is.
    bool from_table = spread == SigmaSpread::table && !flow;
    double last = from_table ? table_.front() : walk.sigmas.back();
    begin_run(walk.timesteps, with_last(walk.sigmas, last));
    last_sample_ = last_noise_ = Tensor();
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& given,
                  Noise& noise) override {
    Tensor converted = convert(model_output, index, given);
    Tensor sample = given;
    size_t known = outputs_.size();
    if (last_sample_.defined() && index > 0) sample = correct(converted, index, known);
    remember(converted);
    last_sample_ = sample;
    last_noise_ = draw_like(noise, converted);
    size_t order = at_most(config_.predictor_order, calls() - index, known + 1);
    return {predict(index, sample, order),
            config_.predicts_original() ? std::optional(converted) : std::nullopt};
  }

  // By the training schedule at the timestep, whatever spread the run has.
  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override {
    float alpha = alphas_.at(static_cast<size_t>(timesteps_.at(index)));
    return original * torch_sqrt(alpha) + noise * torch_sqrt(1 - alpha);
  }

  void visit_history(History& history) override {
    LambdaScheduler::visit_history(history);
    history("last_sample", last_sample_);
    history("last_noise", last_noise_);
  }

 private:
  // An order that the schedule's end (if lower_order_final) and the outputs known allow.
  size_t at_most(int64_t wanted, size_t left, size_t known) const {
    auto order = std::min(static_cast<size_t>(wanted), known);
    return solver_.lower_order_final ? std::min(order, left) : order;
  }

  // The share of noise at a call: all in the middle of training's schedule, none at its ends.
  int tau(size_t index) const {
    constexpr double from = 200, to = 800;
    return timesteps_.at(index) >= from && timesteps_.at(index) <= to ? 1 : 0;
  }

  Tensor convert(const Tensor& model_output, size_t index, const Tensor& sample) const {
    Tensor output = model_output;
    if (config_.learned_variance()) {
      if (sample.size(1) != 3 || model_output.size(1) < 3) {
        throw Unsupported(Finding{
            "scheduler.variance_type", *config_.variance_type,
            fmt::format("is for images of 3 channels; these samples have {}", sample.size(1)),
            "set variance_type to null"});
      }
      output = model_output.narrow(1, 0, 3);
    }
    return config_.predicts_original() ? predict_original(output, index, sample)
                                       : predict_epsilon(output, index, sample);
  }

  // The step from call `from` to the point after it, from `sample`, by `outputs` at calls `latest`,
  // latest - 1, ..., with the noise `drawn`.
  Tensor adams(size_t from, size_t latest, const Tensor& sample, const std::vector<Tensor>& outputs,
               const Tensor& drawn, int tau, bool corrects) const {
    const Point& s = point(from);
    const Point& t = point(from + 1);
    std::vector<float> lambdas;
    for (size_t i = 0; i < outputs.size(); ++i) lambdas.push_back(point(latest - i).lambda);
    SaStep step{.from = s.lambda, .to = t.lambda, .tau = tau};
    bool original = config_.predicts_original();
    std::vector<float> weights = original ? sa_data_coefficients(step, lambdas, corrects)
                                          : sa_noise_coefficients(step, lambdas);
    int square = tau * tau;
    float h = t.lambda - s.lambda;
    float scale = original ? static_cast<float>(1 + square) * t.sigma *
                                 torch_exp(static_cast<float>(-square) * t.lambda)
                           : static_cast<float>(-(1 + square)) * t.alpha;
    Tensor slope = outputs[0] * (scale * weights[0]);
    for (size_t i = 1; i < outputs.size(); ++i) slope = slope + outputs[i] * (scale * weights[i]);
    float spread = original
                       ? t.sigma * torch_sqrt(1 - torch_exp(static_cast<float>(-2 * square) * h))
                       : static_cast<float>(tau) * t.sigma * torch_sqrt(torch_exp(2 * h) - 1);
    float kept = original ? torch_exp(static_cast<float>(-square) * h) * (t.sigma / s.sigma)
                          : t.alpha / s.alpha;
    return sample * kept + slope + drawn * spread;
  }

  Tensor predict(size_t index, const Tensor& sample, size_t order) const {
    order = usable_outputs(index, order);
    std::vector<Tensor> outputs;
    for (size_t i = 1; i <= order; ++i) outputs.push_back(output(i));
    return adams(index, index, sample, outputs, last_noise_, tau(index), false);
  }

  // The sample at call `index` again, now that the network's output there is known; `known` earlier
  // ones are.
  Tensor correct(const Tensor& converted, size_t index, size_t known) const {
    // As the last step had it, from its own place.
    size_t order = at_most(config_.corrector_order, calls() - index + 2, known + 1);
    std::vector<Tensor> outputs{converted};
    for (size_t i = 1; i < order && point(index - i).lambda != point(index - i + 1).lambda; ++i)
      outputs.push_back(output(i));
    return adams(index - 1, index, last_sample_, outputs, last_noise_, tau(index - 1), true);
  }

  SaSolverConfig config_;
  std::vector<float> alphas_;  // by training step
  int64_t usable_;
  Tensor last_sample_;  // where the last step began, as corrected
  Tensor last_noise_;   // and the noise that it added
};

}  // namespace

SchedulerInfo sa_solver() {
  return describe_scheduler<SaSolver, SaSolverConfig>(
      "SASolverScheduler", {"sa-solver"},
      "stochastic Adams, a predictor and a corrector; fresh noise in the middle of the schedule");
}

}  // namespace omnirt
