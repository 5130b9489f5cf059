// DPM-Solver and DPM-Solver++ in singlestep form: calls come in groups of up to solver_order, and
// each of a group is stepped from the group's start.
#include <ATen/TensorOperators.h>

#include "schedulers/describe.hpp"
#include "schedulers/dpm_solver_update.hpp"
#include "schedulers/numpy_math.hpp"

namespace omnirt {
namespace {

struct SinglestepConfig {
  DpmSolverConfig dpm{.solver = {.lower_order_final = false}};

  static void visit(auto& self, auto& v) { DpmSolverConfig::visit(self.dpm, v); }
  void check(ConfigChecks& checks) const {
    dpm.solver.check(checks, 3);
    dpm.check(checks, {"dpmsolver++", "dpmsolver", "sde-dpmsolver++", "deis"});
  }
};

class DpmSolverSinglestep final : public DpmSolver {
 public:
  explicit DpmSolverSinglestep(const SinglestepConfig& config)
      : DpmSolver(make_alphas_cumprod(config.dpm.solver.betas, ZeroSnr::off), config.dpm),
        usable_(usable_steps(config_.lambda_min())) {
    if (usable_ < 1) {
      throw Unsupported(Finding{"scheduler.lambda_min_clipped",
                                fmt::format("{}", config_.lambda_min()),
                                "no training step is left below it", "give a smaller value"});
    }
  }

  GivenLevels takes_levels() const override { return {.timesteps = true}; }

  void plan_run(const StepPlan& plan) override {
    bool flow = solver_.use_flow_sigmas && solver_.spread.spread() == SigmaSpread::table;
    SigmaWalk walk = !plan.timesteps.empty() ? walk_given(plan.timesteps)
                     : flow                  ? walk_flow(plan)
                                             : walk_table({}, usable_, plan.num_inference_steps);
    if (solver_.spread.spread() == SigmaSpread::karras) {
      for (double& t : walk.timesteps) t = np::round(t);
    }
    begin_run(walk.timesteps, with_last(walk.sigmas, last_sigma()));
    plan_orders();
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    Tensor converted = convert(model_output, index, sample);
    remember(converted);
    Tensor drawn = stochastic() ? draw_like(noise, converted) : Tensor();
    // A run that begins within a group has fewer outputs than the group's order.
    size_t order = std::min(orders_.at(index), outputs_.size());
    if (order == 1) start_sample_ = sample;
    size_t start = index + 1 - order;
    size_t distinct = usable_outputs(index, order);
    Tensor prev = dpm_update(coefficients(point(start), point(index + 1), form(order, distinct)),
                             start_sample_, slopes(index, order, distinct), drawn);
    return {prev, predicts_original() ? std::optional(converted) : std::nullopt};
  }

  void visit_history(History& history) override {
    DpmSolver::visit_history(history);
    history("start_sample", start_sample_);
  }

 private:
  // The orders of the calls: 1, 2, .. in groups; lower ones at the end of a run whose number of
  // steps is no multiple of the order, or that ends at sigma 0.
  void plan_orders() {
    size_t n = calls();
    auto order = static_cast<size_t>(solver_.solver_order);
    bool to_zero = config_.final_sigmas_type == "zero";
    bool lower = solver_.lower_order_final || n % order != 0 || to_zero;
    orders_.clear();
    for (size_t i = 0; i < n; ++i) orders_.push_back(i % order + 1);
    if (lower && order > 1 && n % order == 0) {
      // The last group becomes 1, 2, .., order - 1 and a 1.
      orders_.back() = 1;
    }
    if (to_zero) orders_.back() = 1;
  }

  DpmForm form(size_t order, size_t distinct) const {
    if (order == 1 || distinct < order) return DpmForm::first;
    if (order == 2) return config_.solver_type == "heun" ? DpmForm::heun : DpmForm::midpoint;
    return config_.solver_type == "heun" ? DpmForm::full : DpmForm::heun;
  }

  Slopes slopes(size_t index, size_t order, size_t distinct) const {
    const Tensor& base = output(order);
    if (order == 1 || distinct < order) return {base, {}, {}};
    float from = point(index + 1 - order).lambda;
    float h = point(index + 1).lambda - from;
    float r0 = (point(index).lambda - from) / h;
    Tensor whole = (output(1) - base) * (1 / r0);
    if (order == 2) return {base, whole, {}};
    if (config_.solver_type != "heun") return {base, whole, {}};
    float r1 = (point(index - 1).lambda - from) / h;
    Tensor half = (output(2) - base) * (1 / r1);
    return {base, (half * r0 - whole * r1) / (r0 - r1), (whole - half) * 2 / (r0 - r1)};
  }

  int64_t usable_;
  std::vector<size_t> orders_;  // by call
  Tensor start_sample_;         // of the group under way
};

}  // namespace

SchedulerInfo dpm_solver_singlestep() {
  return describe_scheduler<DpmSolverSinglestep, SinglestepConfig>(
      "DPMSolverSinglestepScheduler", {"dpm-solver-singlestep", "dpmpp-2s"},
      "DPM-Solver(++), singlestep; no history between groups of calls");
}

}  // namespace omnirt
