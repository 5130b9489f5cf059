#pragma once
#include <deque>
#include <span>
#include <vector>

#include "schedulers/noise_schedule.hpp"
#include "schedulers/prediction.hpp"
#include "schedulers/scheduler.hpp"
#include "schedulers/sigma_schedule.hpp"
#include "schedulers/timestep_spacing.hpp"

namespace omnirt {

// The keys that the solvers below share.
struct SolverConfig {
  BetaConfig betas{};
  int64_t solver_order = 2;
  std::string prediction_type = "epsilon";
  ClipConfig clip{};
  bool lower_order_final = true;  // lower orders at the end of a run of few steps
  SigmaSpreadConfig spread{};
  bool use_flow_sigmas = false;  // samples are (1 - sigma) image + sigma noise
  double flow_shift = 1.0;
  bool use_dynamic_shifting = false;  // flow_shift from StepPlan::mu
  std::string time_shift_type = "exponential";

  static void visit(auto& self, auto& v) {
    BetaConfig::visit(self.betas, v);
    v("solver_order", self.solver_order);
    v("prediction_type", self.prediction_type);
    ClipConfig::visit(self.clip, v);
    v("lower_order_final", self.lower_order_final);
    SigmaSpreadConfig::visit(self.spread, v);
    v("use_flow_sigmas", self.use_flow_sigmas);
    v("flow_shift", self.flow_shift);
    v("use_dynamic_shifting", self.use_dynamic_shifting);
    v("time_shift_type", self.time_shift_type);
  }
  void check(ConfigChecks& checks, int64_t max_order) const;
  // flow_shift, or what `plan.mu` makes of it under dynamic shifting.
  double shift(const StepPlan& plan) const;
};

// A place on the schedule, fp32 as the reference holds it: a noisy sample there is alpha * image
// + sigma * noise.
struct LambdaPoint {
  float alpha;
  float sigma;
  float lambda;  // log(alpha / sigma)
};

// The outputs known, or fewer: as many as are at different noise levels, going back from `index`.
// The formulas divide by those differences.
size_t usable_outputs(std::span<const LambdaPoint> points, size_t index, size_t known);
// Appends `output` to the others, of which the last `most` are kept.
void remember_output(std::vector<Tensor>& outputs, Tensor output, int64_t most);

// What solvers in half the log signal-to-noise ratio, lambda = log(alpha / sigma), share
// (arXiv 2206.00927): a noisy sample is alpha * image + sigma * noise.
class LambdaScheduler : public Scheduler {
 public:
  void visit_history(History& history) override { history("outputs", outputs_); }
  Tensor add_noise(const Tensor& original, const Tensor& noise, size_t index) const override;

 protected:
  using Point = LambdaPoint;

  LambdaScheduler(std::vector<float> alphas_cumprod, SolverConfig solver)
      : table_(sigmas_of(alphas_cumprod)),
        solver_(std::move(solver)),
        prediction_(parse_prediction(solver_.prediction_type)),
        alphas_cumprod_(std::move(alphas_cumprod)) {}

  int64_t train_steps() const { return static_cast<int64_t>(table_.size()); }
  // How many training steps are less noisy than lambda_min says.
  int64_t usable_steps(double lambda_min) const;

  // n calls over the table, or over a spread between its ends, which knows no spacing; timesteps
  // not rounded. `usable` is for solver_timesteps.
  SigmaWalk walk_table(const SpacingConfig& spacing, int64_t usable, int64_t n) const;
  // One call at each of a run's own timesteps, in whole numbers. Throws Unsupported with a spread
  // or flow sigmas.
  SigmaWalk walk_given(const std::vector<double>& timesteps) const;
  // n calls over flow sigmas.
  SigmaWalk walk_flow(const StepPlan& plan) const;

  // Sets up a run; its sigmas must then hold one more value, where the last call ends. Timesteps
  // are cut to whole numbers. Throws Unsupported for flow sigmas outside 0 to 1.
  void begin_run(std::span<const double> timesteps, std::vector<float> sigmas);
  const Point& point(size_t index) const { return points_.at(index); }
  std::span<const Point> points() const { return points_; }
  size_t calls() const { return timesteps_.size(); }

  // The image, or the noise, from the network's output at call `index`; with thresholding. A
  // network that predicts its variance too is read in its first three channels.
  Tensor predict_original(const Tensor& output, size_t index, const Tensor& sample) const;
  Tensor predict_epsilon(const Tensor& output, size_t index, const Tensor& sample) const;

  // Converted outputs, the latest last, at most solver_order of them.
  void remember(Tensor output);
  const Tensor& output(size_t back) const { return outputs_[outputs_.size() - back]; }
  // Of the outputs known, those that formulas of order `wanted` can use at `index`.
  size_t usable_outputs(size_t index, size_t wanted) const;

  std::vector<float> table_;  // sigma by training step
  SolverConfig solver_;
  Prediction prediction_;
  std::vector<float> sigmas_;  // by call, and the one after the last; before Point splits them
  std::vector<Tensor> outputs_;

 private:
  Point make_point(float sigma) const;

  std::vector<float> alphas_cumprod_;
  std::vector<Point> points_;
};

}  // namespace omnirt
