// DPM-Solver++ in multistep form (arXiv 2211.01095) with the preconditioning of EDM.
#include <ATen/TensorOperators.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/pow.h>

#include <cmath>

#include "schedulers/describe.hpp"
#include "schedulers/dpm_solver_update.hpp"
#include "schedulers/edm.hpp"

namespace omnirt {
namespace {

struct EdmMultistepConfig {
  EdmConfig edm;
  int64_t solver_order = 2;
  ClipConfig clip;
  std::string algorithm_type = "dpmsolver++";
  std::string solver_type = "midpoint";
  bool lower_order_final = true;
  bool euler_at_final = false;

  static void visit(auto& self, auto& v) {
    EdmConfig::visit(self.edm, v);
    v("solver_order", self.solver_order);
    ClipConfig::visit(self.clip, v);
    v("algorithm_type", self.algorithm_type);
    v("solver_type", self.solver_type);
    v("lower_order_final", self.lower_order_final);
    v("euler_at_final", self.euler_at_final);
  }
  void check(ConfigChecks& checks) const {
    edm.check(checks);
    checks.require(solver_order >= 1 && solver_order <= 3, "solver_order", solver_order,
                   "an order from 1 to 3 was expected");
    clip.check(checks);
    checks.one_of("algorithm_type", algorithm_type, {"dpmsolver++", "sde-dpmsolver++", "deis"});
    // Names of DEIS and UniPC, whose config may be reused, mean midpoint.
    checks.one_of("solver_type", solver_type, {"midpoint", "heun", "logrho", "bh1", "bh2"});
    checks.require(algorithm_type != "deis" || edm.final_sigmas_type != "zero", "final_sigmas_type",
                   edm.final_sigmas_type, "algorithm_type deis cannot end at sigma 0",
                   "use final_sigmas_type sigma_min, or algorithm_type dpmsolver++");
  }
};

class EdmDpmSolverMultistep final : public EdmScheduler {
 public:
  explicit EdmDpmSolverMultistep(EdmMultistepConfig config)
      : EdmScheduler(config.edm),
        own_(std::move(config)),
        algorithm_(own_.algorithm_type == "deis" ? "dpmsolver++" : own_.algorithm_type) {}

  void plan_run(const StepPlan& plan) override {
    int64_t n = plan.num_inference_steps;
    bool karras = config_.sigma_schedule == "karras", to_zero = config_.final_sigmas_type == "zero";
    begin_run(karras ? karras_sigmas(n) : exponential_sigmas(n),
              to_zero ? 0.0F : static_cast<float>(config_.sigma_min));
    points_.clear();
    for (float sigma : sigmas_) points_.push_back({1, sigma, -torch_log(sigma)});
    outputs_.clear();
    orders_ = {.calls = timesteps_.size(),
               .solver_order = own_.solver_order,
               .lower_order_final = own_.lower_order_final,
               .euler_at_final = own_.euler_at_final,
               .to_zero = to_zero};
    if (algorithm_ == "sde-dpmsolver++" && orders_.highest() > 2) {
      refuse_steps(n, "algorithm_type sde-dpmsolver++ has no third-order step with EDM",
                   "use solver_order 2, or algorithm_type dpmsolver++");
    }
  }

  StepResult step(const Tensor& model_output, size_t index, const Tensor& sample,
                  Noise& noise) override {
    Tensor original = predict_original(model_output, sample, sigmas_.at(index));
    if (own_.clip.thresholding) original = threshold_sample(original, own_.clip);
    remember_output(outputs_, original, own_.solver_order);
    Tensor drawn = algorithm_ == "sde-dpmsolver++" ? draw_like(noise, original) : Tensor();
    size_t order = usable_outputs(points_, index, std::min(orders_.at(index), outputs_.size()));
    DpmCoefficients c = dpm_coefficients(algorithm_, points_.at(index), points_.at(index + 1),
                                         multistep_form(order, own_.solver_type));
    return {dpm_update(c, sample, multistep_slopes(points_, index, outputs_, order), drawn),
            original};
  }

  void visit_history(History& history) override { history("outputs", outputs_); }

 private:
  // arXiv 2206.00364, equation 5, in fp32.
  std::vector<float> karras_sigmas(int64_t n) const {
    double low = std::pow(config_.sigma_min, 1 / config_.rho);
    double high = std::pow(config_.sigma_max, 1 / config_.rho);
    Tensor sigmas = at::pow(at::linspace(0, 1, n, at::kFloat) * (low - high) + high, config_.rho);
    const float* data = sigmas.const_data_ptr<float>();
    return {data, data + n};
  }

  EdmMultistepConfig own_;
  std::string algorithm_;
  MultistepOrders orders_;
  std::vector<LambdaPoint> points_;
  std::vector<Tensor> outputs_;  // the latest last
};

}  // namespace

SchedulerInfo edm_dpm_solver_multistep() {
  SchedulerInfo info = describe_scheduler<EdmDpmSolverMultistep, EdmMultistepConfig>(
      "EDMDPMSolverMultistepScheduler", {"edm-dpm-solver-multistep", "edm-dpm-solver"},
      "DPM-Solver++, multistep, for models with EDM's preconditioning (Playground 2.5)");
  info.made_for = SchedulerFor::edm;
  return info;
}

}  // namespace omnirt
