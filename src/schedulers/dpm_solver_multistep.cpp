// DPM-Solver and DPM-Solver++ in multistep form: derivatives from the outputs of earlier steps.
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/dpm_solver_update.hpp"
#include "schedulers/numpy_math.hpp"

namespace omnirt {
namespace {

struct MultistepConfig {
  DpmSolverConfig dpm;
  bool euler_at_final = false;
  bool use_lu_lambdas = false;  // evenly in lambda (arXiv 2206.00927's own spread)
  SpacingConfig spacing;
  bool rescale_betas_zero_snr = false;

  static void visit(auto& self, auto& v) {
    DpmSolverConfig::visit(self.dpm, v);
    v("euler_at_final", self.euler_at_final);
    v("use_lu_lambdas", self.use_lu_lambdas);
    SpacingConfig::visit(self.spacing, v);
    v("rescale_betas_zero_snr", self.rescale_betas_zero_snr);
  }
  void check(ConfigChecks& checks) const {
    dpm.solver.check(checks, 64);  // above 3 is 3
    dpm.check(checks, {"dpmsolver++", "dpmsolver", "sde-dpmsolver++", "sde-dpmsolver", "deis"});
    spacing.check(checks, dpm.solver.betas.num_train_timesteps);
  }
};

class DpmSolverMultistep final : public DpmSolver {
 public:
  explicit DpmSolverMultistep(MultistepConfig config)
      : DpmSolver(make_alphas_cumprod(config.dpm.solver.betas,
                                      config.rescale_betas_zero_snr ? ZeroSnr::tiny : ZeroSnr::off),
                  config.dpm),
        own_(std::move(config)),
        usable_(usable_steps(config_.lambda_min())) {
    if (usable_ < 1) {
      throw Unsupported(Finding{"scheduler.lambda_min_clipped",
                                fmt::format("{}", config_.lambda_min()),
                                "no training step is left below it", "give a smaller value"});
    }
  }

  void plan_run(const StepPlan& plan) override {
    SigmaWalk walk = walk_schedule(plan);
    begin_run(walk.timesteps, with_last(walk.sigmas, last_sigma()));
    for (size_t i = 2; i < calls() && algorithm_ == "sde-dpmsolver"; ++i) {
      if (order_at(i) > 2) {
        refuse_steps(plan.num_inference_steps,
                     "algorithm_type sde-dpmsolver has no third-order step",
                     "use solver_order 2, or algorithm_type sde-dpmsolver++");
      }
    }
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    Tensor converted = convert(model_output, index, sample);
    remember(converted);
    Tensor drawn = stochastic() ? draw_like(noise, converted) : Tensor();
    size_t order = usable_outputs(index, order_at(index));
    DpmForm form = DpmForm::first;
    if (order == 2) form = config_.solver_type == "heun" ? DpmForm::heun : DpmForm::midpoint;
    if (order == 3) form = DpmForm::full;
    Tensor prev = update(coefficients(point(index), point(index + 1), form), sample,
                         slopes(index, order), drawn);
    return {prev, predicts_original() ? std::optional(converted) : std::nullopt};
  }

 private:
  // The order that the schedule wants at a call, though fewer outputs may be known there.
  size_t order_at(size_t index) const {
    bool few = solver_.lower_order_final && calls() < 15;
    if (index + 1 == calls() && (own_.euler_at_final || few || config_.final_sigmas_type == "zero"))
      return 1;
    size_t order = std::min<size_t>(3, static_cast<size_t>(solver_.solver_order));
    return index + 2 == calls() && few ? std::min<size_t>(2, order) : order;
  }

  Slopes slopes(size_t index, size_t order) const {
    if (order == 1) return {output(1), {}, {}};
    float h = point(index + 1).lambda - point(index).lambda;
    float r0 = (point(index).lambda - point(index - 1).lambda) / h;
    Tensor first = (output(1) - output(2)) * (1 / r0);
    if (order == 2) return {output(1), first, {}};
    float r1 = (point(index - 1).lambda - point(index - 2).lambda) / h;
    Tensor change = first - (output(2) - output(3)) * (1 / r1);
    return {output(1), first + change * (r0 / (r0 + r1)), change * (1 / (r0 + r1))};
  }

  SigmaWalk walk_schedule(const StepPlan& plan) const {
    int64_t n = plan.num_inference_steps;
    bool cosine = solver_.betas.beta_schedule == "squaredcos_cap_v2";
    SigmaSpread spread = solver_.spread.spread();
    SigmaWalk walk;
    if (own_.use_lu_lambdas && spread != SigmaSpread::karras) {
      walk = walk_lu(n);
    } else if (solver_.use_flow_sigmas && spread == SigmaSpread::table) {
      return walk_flow(plan);
    } else {
      walk = walk_table(own_.spacing, usable_, n);
      if (spread != SigmaSpread::karras) return walk;
    }
    for (double& t : walk.timesteps) t = cosine ? t : np::round(t);
    return walk;
  }

  SigmaWalk walk_lu(int64_t n) const {
    std::vector<float> logs = log_sigmas(table_);
    SigmaWalk walk;
    for (double ramp : np::linspace(0, 1, n)) {
      double first = logs.back();
      walk.sigmas.push_back(std::exp(first + ramp * (logs.front() - first)));
      walk.timesteps.push_back(sigma_to_t(walk.sigmas.back(), logs));
    }
    return walk;
  }

  MultistepConfig own_;
  int64_t usable_;
};

}  // namespace

SchedulerInfo dpm_solver_multistep() {
  return describe_scheduler<DpmSolverMultistep, MultistepConfig>(
      "DPMSolverMultistepScheduler",
      {"dpm-solver-multistep", "dpm-solver", "dpm-solver++", "dpmpp-2m"},
      "DPM-Solver(++), multistep; good images from 15 to 25 steps, also stochastic (sde-)");
}

}  // namespace omnirt
