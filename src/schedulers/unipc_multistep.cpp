// UniPC (arXiv 2302.04867): a predictor as of DPM-Solver and a corrector that uses each call twice.
#include <ATen/TensorOperators.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/pow.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "schedulers/describe.hpp"
#include "schedulers/lambda_scheduler.hpp"
#include "schedulers/numpy_math.hpp"

namespace omnirt {
namespace {

struct UniPcConfig {
  SolverConfig solver;
  bool predict_x0 = true;
  std::string solver_type = "bh2";
  std::vector<int64_t> disable_corrector;  // the calls after which the corrector is not used
  SpacingConfig spacing;
  std::string final_sigmas_type = "zero";
  bool rescale_betas_zero_snr = false;
  std::optional<double> shift_terminal;  // null or 0: off

  static void visit(auto& self, auto& v) {
    SolverConfig::visit(self.solver, v);
    v("predict_x0", self.predict_x0);
    v("solver_type", self.solver_type);
    v("disable_corrector", self.disable_corrector);
    v.only("solver_p", {});
    SpacingConfig::visit(self.spacing, v);
    v("final_sigmas_type", self.final_sigmas_type);
    v("rescale_betas_zero_snr", self.rescale_betas_zero_snr);
    v("shift_terminal", self.shift_terminal);
  }
  void check(ConfigChecks& checks) const {
    solver.check(checks, 16);
    checks.one_of("prediction_type", solver.prediction_type,
                  {"epsilon", "sample", "v_prediction", "flow_prediction"});
    checks.require(predict_x0 || solver.prediction_type != "flow_prediction", "prediction_type",
                   solver.prediction_type, "needs predict_x0", "set predict_x0 to true");
    // Names of DPM-Solver and DEIS, whose config may be reused, mean bh2.
    checks.one_of("solver_type", solver_type, {"bh1", "bh2", "midpoint", "heun", "logrho"});
    spacing.check(checks, solver.betas.num_train_timesteps);
    checks.one_of("final_sigmas_type", final_sigmas_type, {"zero", "sigma_min"});
    checks.require(!shift_terminal || solver.use_flow_sigmas, "shift_terminal",
                   shift_terminal.value_or(0), "is for flow sigmas only",
                   "set use_flow_sigmas to true");
    checks.require(!shift_terminal || (*shift_terminal >= 0 && *shift_terminal < 1),
                   "shift_terminal", shift_terminal.value_or(0), "from 0 to below 1 was expected");
    checks.require(!solver.use_dynamic_shifting || solver.time_shift_type == "exponential" ||
                       solver.time_shift_type == "linear",
                   "time_shift_type", solver.time_shift_type, "exponential or linear was expected");
  }
};

class UniPcMultistep final : public LambdaScheduler {
 public:
  explicit UniPcMultistep(UniPcConfig config)
      : LambdaScheduler(
            make_alphas_cumprod(config.solver.betas,
                                config.rescale_betas_zero_snr ? ZeroSnr::tiny : ZeroSnr::off),
            config.solver),
        config_(std::move(config)) {}

  GivenLevels takes_levels() const override { return {.sigmas = true}; }

  void plan_run(const StepPlan& plan) override {
    if (solver_.use_dynamic_shifting && !plan.mu) refuse_dynamic_shifting();
    bool flow_table = solver_.use_flow_sigmas && solver_.spread.spread() == SigmaSpread::table;
    if (!plan.sigmas.empty() && !flow_table)
      refuse_given("sigmas", "taken with flow sigmas alone",
                   "set use_flow_sigmas in scheduler_config, and no other spread");
    SigmaWalk walk = walk_schedule(plan);
    bool from_table = solver_.spread.spread() == SigmaSpread::table && !solver_.use_flow_sigmas;
    double last = from_table ? table_.front() : walk.sigmas.back();
    begin_run(walk.timesteps,
              with_last(walk.sigmas, config_.final_sigmas_type == "zero" ? 0.0 : last));
    last_sample_ = Tensor();
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& given,
                  Noise& /*noise*/) override {
    Tensor converted = convert(model_output, index, given);
    Tensor sample = given;
    if (last_sample_.defined() && corrects(index)) sample = correct(converted, index);
    remember(converted);
    auto wanted = static_cast<size_t>(solver_.solver_order);
    if (solver_.lower_order_final) wanted = std::min(wanted, calls() - index);
    order_ = std::min(wanted, outputs_.size());
    last_sample_ = sample;
    return {predict(index, sample), config_.predict_x0 ? std::optional(converted) : std::nullopt};
  }

  void visit_history(History& history) override {
    LambdaScheduler::visit_history(history);
    history("order", order_);
    history("last_sample", last_sample_);
  }

 private:
  // What the update from `base` to the point after it shares between predictor and corrector
  // (section 3.1 of the paper, with its B(h) as solver_type).
  struct Terms {
    Tensor moved;               // the first-order update
    float weight;               // of the sum of differences, B(h) and its scale
    std::vector<float> ratios;  // r_k
    std::vector<Tensor> differences;
    std::vector<float> right;  // the right side of the order conditions
  };

  bool corrects(size_t index) const {
    const auto& off = config_.disable_corrector;
    return std::find(off.begin(), off.end(), static_cast<int64_t>(index) - 1) == off.end() &&
           point(index).lambda != point(index - 1).lambda;
  }

  Tensor convert(const Tensor& output, size_t index, const Tensor& sample) const {
    return config_.predict_x0 ? predict_original(output, index, sample)
                              : predict_epsilon(output, index, sample);
  }

  Terms terms(size_t base, size_t order, const Tensor& sample) const {
    const Point& s = point(base);
    const Point& t = point(base + 1);
    float h = t.lambda - s.lambda;
    float hh = config_.predict_x0 ? -h : h;
    float phi = torch_expm1(hh);
    float scale = config_.predict_x0 ? t.alpha : t.sigma;
    float ratio = config_.predict_x0 ? t.sigma / s.sigma : t.alpha / s.alpha;
    float b = config_.solver_type == "bh1" ? hh : phi;
    Terms terms{sample * ratio - output(1) * (scale * phi), scale * b, {}, {}, {}};
    for (size_t k = 1; k < order; ++k) {
      float r = (point(base - k).lambda - s.lambda) / h;
      terms.ratios.push_back(r);
      terms.differences.push_back((output(k + 1) - output(1)) / r);
    }
    terms.ratios.push_back(1);
    float phi_k = phi / hh - 1;
    double factorial = 1;
    for (size_t k = 1; k <= order; ++k) {
      terms.right.push_back(phi_k * static_cast<float>(factorial) / b);
      factorial *= static_cast<double>(k + 1);
      phi_k = phi_k / hh - static_cast<float>(1 / factorial);
    }
    return terms;
  }

  // Solves the first n order conditions for the weights of the differences.
  static std::vector<float> solve(const Terms& terms, size_t n) {
    std::vector<Tensor> rows;
    Tensor ratios = at::tensor(
        std::vector<float>(terms.ratios.begin(), terms.ratios.begin() + static_cast<ptrdiff_t>(n)));
    for (size_t k = 0; k < n; ++k) rows.push_back(at::pow(ratios, static_cast<int64_t>(k)));
    Tensor right = at::tensor(
        std::vector<float>(terms.right.begin(), terms.right.begin() + static_cast<ptrdiff_t>(n)));
    Tensor weights = at::linalg_solve(at::stack(rows), right).contiguous();
    const float* data = weights.const_data_ptr<float>();
    return {data, data + weights.numel()};
  }

  static Tensor weighted(const std::vector<float>& weights, const std::vector<Tensor>& values) {
    Tensor sum = values[0] * weights[0];
    for (size_t k = 1; k < values.size(); ++k) sum = sum + values[k] * weights[k];
    return sum;
  }

  Tensor predict(size_t index, const Tensor& sample) const {
    const Point& s = point(index);
    const Point& t = point(index + 1);
    if (t.lambda == s.lambda) return sample;
    if (t.sigma == 0) {
      // The limit of the first order: the image itself. The reference's form is 0 times infinity
      // here except for bh2 with predict_x0, which yields just this.
      if (config_.predict_x0) return output(1) * t.alpha;
      return (sample - output(1) * s.sigma) * (t.alpha / s.alpha);
    }
    size_t order = usable_outputs(index, order_);
    Terms now = terms(index, order, sample);
    if (order == 1) return now.moved;
    std::vector<float> weights = order == 2 ? std::vector<float>{0.5F} : solve(now, order - 1);
    return now.moved - weighted(weights, now.differences) * now.weight;
  }

  // The sample at call `index` again, now that the network's output there is known.
  Tensor correct(const Tensor& converted, size_t index) const {
    size_t order = usable_outputs(index - 1, order_);
    Terms now = terms(index - 1, order, last_sample_);
    std::vector<float> weights = order == 1 ? std::vector<float>{0.5F} : solve(now, order);
    now.differences.push_back(converted - output(1));
    return now.moved - weighted(weights, now.differences) * now.weight;
  }

  SigmaWalk walk_schedule(const StepPlan& plan) const {
    SigmaSpread spread = solver_.spread.spread();
    auto train = static_cast<double>(train_steps());
    SigmaWalk walk;
    if (spread == SigmaSpread::table && solver_.use_flow_sigmas) {
      walk.sigmas = shifted_sigmas(plan);
      for (double sigma : walk.sigmas) walk.timesteps.push_back(sigma * train);
      return walk;
    }
    walk = walk_table(config_.spacing, train_steps(), plan.num_inference_steps);
    if (spread != SigmaSpread::karras) return walk;
    for (size_t i = 0; i < walk.sigmas.size(); ++i) {
      double& sigma = walk.sigmas[i];
      if (solver_.use_flow_sigmas) sigma = sigma / (sigma + 1);
      walk.timesteps[i] = solver_.use_flow_sigmas ? sigma * train : np::round(walk.timesteps[i]);
    }
    return walk;
  }

  std::vector<double> shifted_sigmas(const StepPlan& plan) const {
    std::vector<double> sigmas = plan.sigmas;
    if (sigmas.empty()) {
      sigmas =
          np::linspace(1, 1 / static_cast<double>(train_steps()), plan.num_inference_steps + 1);
      sigmas.pop_back();
    }
    if (sigmas.front() > 1 || sigmas.back() <= 0)
      refuse_given("sigmas", "flow sigmas lie above 0 and up to 1", "give sigmas of that range");
    for (double& sigma : sigmas) {
      sigma = solver_.use_dynamic_shifting
                  ? time_shift(sigma, *plan.mu, solver_.time_shift_type == "exponential")
                  : shift_sigma(sigma, solver_.flow_shift);
    }
    if (config_.shift_terminal.value_or(0) != 0) {
      stretch_to_terminal(sigmas, *config_.shift_terminal);
    }
    constexpr double eps = 1e-6;  // at 1 there is no signal, and no lambda
    if (std::abs(sigmas.front() - 1) < eps) sigmas.front() -= eps;
    return sigmas;
  }

  UniPcConfig config_;
  size_t order_ = 1;    // of the predictor's last step, which the corrector repeats
  Tensor last_sample_;  // where that step began
};

}  // namespace

SchedulerInfo unipc_multistep() {
  return describe_scheduler<UniPcMultistep, UniPcConfig>(
      "UniPCMultistepScheduler", {"unipc-multistep", "unipc", "uni-pc"},
      "predictor and corrector; good images from 10 to 20 steps");
}

}  // namespace omnirt
