// Diffusion exponential integrator (arXiv 2204.13902), multistep in log rho, rho = sigma / alpha.
#include <ATen/TensorOperators.h>

#include <cmath>

#include "schedulers/describe.hpp"
#include "schedulers/lambda_scheduler.hpp"
#include "schedulers/numpy_math.hpp"

namespace omnirt {
namespace {

struct DeisConfig {
  SolverConfig solver;
  std::string algorithm_type = "deis";
  std::string solver_type = "logrho";
  SpacingConfig spacing;

  static void visit(auto& self, auto& v) {
    SolverConfig::visit(self.solver, v);
    v("algorithm_type", self.algorithm_type);
    v("solver_type", self.solver_type);
    SpacingConfig::visit(self.spacing, v);
  }
  void check(ConfigChecks& checks) const {
    solver.check(checks, 64);  // above 3 is 3
    checks.one_of("prediction_type", solver.prediction_type,
                  {"epsilon", "sample", "v_prediction", "flow_prediction"});
    // Names of DPM-Solver and UniPC, whose config may be reused, mean deis and logrho.
    checks.one_of("algorithm_type", algorithm_type, {"deis", "dpmsolver", "dpmsolver++"});
    checks.one_of("solver_type", solver_type, {"logrho", "midpoint", "heun", "bh1", "bh2"});
    spacing.check(checks, solver.betas.num_train_timesteps);
  }
};

class DeisMultistep final : public LambdaScheduler {
 public:
  explicit DeisMultistep(DeisConfig config)
      : LambdaScheduler(make_alphas_cumprod(config.solver.betas, ZeroSnr::off), config.solver),
        config_(std::move(config)) {}

  void plan_run(const StepPlan& plan) override {
    SigmaSpread spread = solver_.spread.spread();
    bool flow = solver_.use_flow_sigmas && spread == SigmaSpread::table;
    SigmaWalk walk = flow ? walk_flow(plan)
                          : walk_table(config_.spacing, train_steps(), plan.num_inference_steps);
    if (spread == SigmaSpread::karras) {
      for (double& t : walk.timesteps) t = np::round(t);
    }
    // A spread ends at its own lowest sigma: its last call changes nothing.
    bool from_table = spread == SigmaSpread::table && !solver_.use_flow_sigmas;
    begin_run(walk.timesteps,
              with_last(walk.sigmas, from_table ? table_.front() : walk.sigmas.back()));
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& /*noise*/) override {
    const Point& s = point(index);
    const Point& t = point(index + 1);
    Tensor original = predict_original(model_output, index, sample);
    // A flow prediction is divided by the sigma of the schedule as it is, not by its share of the
    // sample; the two differ where the sigmas are not a flow's.
    float sigma = prediction_ == Prediction::flow ? sigmas_.at(index) : s.sigma;
    remember((sample - original * s.alpha) / sigma);
    size_t order = usable_outputs(index, order_at(index));
    if (order == 1) {
      float change = t.sigma * (torch_exp(t.lambda - s.lambda) - 1);
      return {sample * (t.alpha / s.alpha) - output(1) * change, original};
    }
    Tensor sum = sample / s.alpha;
    for (size_t k = 0; k < order; ++k) sum = sum + output(k + 1) * weight(index, order, k);
    return {sum * t.alpha, original};
  }

 private:
  size_t order_at(size_t index) const {
    bool few = solver_.lower_order_final && calls() < 15;
    auto order = std::min<size_t>(3, static_cast<size_t>(solver_.solver_order));
    if (few && index + 1 == calls()) return 1;
    return few && index + 2 == calls() ? std::min<size_t>(2, order) : order;
  }

  float rho(size_t index) const { return point(index).sigma / point(index).alpha; }

  // The integral over the step of the Lagrange polynomial in log rho that is 1 at call index - k.
  float weight(size_t index, size_t order, size_t k) const {
    float b = rho(index - k);
    float c = rho(index - (k + 1) % order);
    if (order == 2) {
      return antiderivative(rho(index + 1), b, c) - antiderivative(rho(index), b, c);
    }
    float d = rho(index - (k + 2) % order);
    return antiderivative(rho(index + 1), b, c, d) - antiderivative(rho(index), b, c, d);
  }

  // In fp32 and in the reference's order: the two terms of the difference nearly cancel.
  static float antiderivative(float t, float b, float c) {
    float log_c = np::log(c);
    return t * (-log_c + np::log(t) - 1) / (np::log(b) - log_c);
  }
  static float antiderivative(float t, float b, float c, float d) {
    float log_t = np::log(t);
    float log_b = np::log(b);
    float log_c = np::log(c);
    float log_d = np::log(d);
    float above =
        t * (log_c * (log_d - log_t + 1) - log_d * log_t + log_d + log_t * log_t - 2 * log_t + 2);
    return above / ((log_b - log_c) * (log_b - log_d));
  }

  DeisConfig config_;
};

}  // namespace

SchedulerInfo deis_multistep() {
  return describe_scheduler<DeisMultistep, DeisConfig>(
      "DEISMultistepScheduler", {"deis-multistep", "deis"},
      "exponential integrator, multistep; good images from 15 to 25 steps");
}

}  // namespace omnirt
