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

  GivenLevels takes_levels() const override { return {.timesteps = true}; }

  void plan_run(const StepPlan& plan) override {
    SigmaWalk walk = walk_schedule(plan);
    begin_run(walk.timesteps, with_last(walk.sigmas, last_sigma()));
    orders_ = {.calls = calls(),
               .solver_order = solver_.solver_order,
               .lower_order_final = solver_.lower_order_final,
               .euler_at_final = own_.euler_at_final,
               .to_zero = config_.final_sigmas_type == "zero"};
    if (algorithm_ == "sde-dpmsolver" && orders_.highest() > 2) {
      refuse_steps(plan.num_inference_steps, "algorithm_type sde-dpmsolver has no third-order step",
                   "use solver_order 2, or algorithm_type sde-dpmsolver++");
    }
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    Tensor converted = convert(model_output, index, sample);
    remember(converted);
    Tensor drawn = stochastic() ? draw_like(noise, converted) : Tensor();
    size_t order = usable_outputs(index, orders_.at(index));
    DpmCoefficients c =
        coefficients(point(index), point(index + 1), multistep_form(order, config_.solver_type));
    Tensor prev = dpm_update(c, sample, multistep_slopes(points(), index, outputs_, order), drawn);
    return {prev, predicts_original() ? std::optional(converted) : std::nullopt};
  }

 private:
  SigmaWalk walk_schedule(const StepPlan& plan) const {
    int64_t n = plan.num_inference_steps;
    if (!plan.timesteps.empty()) {
      if (own_.use_lu_lambdas)
        refuse_given("timesteps", "use_lu_lambdas has timesteps of its own", "turn it off");
      return walk_given(plan.timesteps);
    }
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
  MultistepOrders orders_;
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
