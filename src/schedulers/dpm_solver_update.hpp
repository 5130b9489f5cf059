#pragma once
#include <string>

#include "schedulers/lambda_scheduler.hpp"

namespace omnirt {

// The keys that DPM-Solver's multistep and singlestep forms share.
struct DpmSolverConfig {
  SolverConfig solver{};
  std::string algorithm_type = "dpmsolver++";
  std::string solver_type = "midpoint";
  std::string final_sigmas_type = "zero";
  std::optional<double> lambda_min_clipped = std::nullopt;  // null: minus infinity
  std::optional<std::string> variance_type =
      std::nullopt;  // learned, learned_range: the network predicts it too

  static void visit(auto& self, auto& v) {
    SolverConfig::visit(self.solver, v);
    v("algorithm_type", self.algorithm_type);
    v("solver_type", self.solver_type);
    v("final_sigmas_type", self.final_sigmas_type);
    v("lambda_min_clipped", self.lambda_min_clipped);
    v("variance_type", self.variance_type);
  }
  // `algorithms`: those of this form, by the reference's names.
  void check(ConfigChecks& checks, const std::vector<std::string>& algorithms) const;
  // Read with prediction_type epsilon only.
  bool learned_variance() const;
  double lambda_min() const;
};

// One update of DPM-Solver (arXiv 2206.00927) or DPM-Solver++ (arXiv 2211.01095), ordinary or
// stochastic (its appendix B): x_t = x * sample + d0 * D0 + d1 * D1 + d2 * D2 + noise * z, where D0
// is the converted output at the step's start, and D1, D2 are its estimated derivatives.
struct DpmCoefficients {
  float sample;
  float d0;
  float d1 = 0;
  float d2 = 0;
  float noise = 0;
};

// Second-order weights by the midpoint rule or exact (heun); full adds the third order to heun's.
enum class DpmForm { first, midpoint, heun, full };
// `algorithm`: dpmsolver++, dpmsolver, or one of them after sde-.
DpmCoefficients dpm_coefficients(const std::string& algorithm, const LambdaPoint& start,
                                 const LambdaPoint& end, DpmForm form);

// D0 and, where the order has them, D1 and D2.
struct Slopes {
  Tensor d0;
  Tensor d1;
  Tensor d2;
};
// `drawn`: z, for a stochastic algorithm.
Tensor dpm_update(const DpmCoefficients& c, const Tensor& sample, const Slopes& slopes,
                  const Tensor& drawn);

// Of the multistep form: which order a call has where enough outputs are known, how it is weighted,
// and its derivatives from the outputs, the latest last, at calls up to `index`.
struct MultistepOrders {
  size_t calls = 0;
  int64_t solver_order = 2;
  bool lower_order_final = true;
  bool euler_at_final = false;
  bool to_zero = true;  // the last step ends at sigma 0

  size_t at(size_t index) const;
  size_t highest() const;  // of a run from its beginning
};
DpmForm multistep_form(size_t order, const std::string& solver_type);
Slopes multistep_slopes(std::span<const LambdaPoint> points, size_t index,
                        const std::vector<Tensor>& outputs, size_t order);

class DpmSolver : public LambdaScheduler {
 public:
  bool needs_predicted_variance() const override { return config_.learned_variance(); }

 protected:
  DpmSolver(std::vector<float> alphas_cumprod, DpmSolverConfig config);

  bool predicts_original() const { return algorithm_.ends_with("dpmsolver++"); }
  bool stochastic() const { return algorithm_.starts_with("sde-"); }
  Tensor convert(const Tensor& model_output, size_t index, const Tensor& sample) const;
  DpmCoefficients coefficients(const Point& start, const Point& end, DpmForm form) const {
    return dpm_coefficients(algorithm_, start, end, form);
  }
  // Where the last step ends.
  double last_sigma() const;

  DpmSolverConfig config_;
  std::string algorithm_;  // config's, with other schedulers' names mapped
};

}  // namespace omnirt
