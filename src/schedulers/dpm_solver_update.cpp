#include "schedulers/dpm_solver_update.hpp"

#include <ATen/TensorOperators.h>

#include <fmt/format.h>

#include <algorithm>

#include <limits>

namespace omnirt {

void DpmSolverConfig::check(ConfigChecks& checks,
                            const std::vector<std::string>& algorithms) const {
  checks.one_of("algorithm_type", algorithm_type, algorithms);
  // Names of DEIS and UniPC, whose config may be reused, mean midpoint.
  checks.one_of("solver_type", solver_type, {"midpoint", "heun", "logrho", "bh1", "bh2"});
  checks.one_of("prediction_type", solver.prediction_type,
                {"epsilon", "sample", "v_prediction", "flow_prediction"});
  checks.one_of("final_sigmas_type", final_sigmas_type, {"zero", "sigma_min"});
  bool plus_plus = algorithm_type.ends_with("dpmsolver++");
  checks.require(plus_plus || final_sigmas_type != "zero", "final_sigmas_type", final_sigmas_type,
                 fmt::format("algorithm_type {} cannot end at sigma 0", algorithm_type),
                 "use final_sigmas_type sigma_min, or algorithm_type dpmsolver++");
  // The reference runs deis as dpmsolver++, though it refuses its final sigma above.
  bool predicts_original = plus_plus || algorithm_type == "deis";
  checks.require(predicts_original || solver.prediction_type != "flow_prediction",
                 "prediction_type", solver.prediction_type,
                 fmt::format("algorithm_type {} does not have it", algorithm_type),
                 "use algorithm_type dpmsolver++");
}

bool DpmSolverConfig::learned_variance() const {
  return solver.prediction_type == "epsilon" &&
         (variance_type == "learned" || variance_type == "learned_range");
}

double DpmSolverConfig::lambda_min() const {
  return lambda_min_clipped.value_or(-std::numeric_limits<double>::infinity());
}

DpmSolver::DpmSolver(std::vector<float> alphas_cumprod, DpmSolverConfig config)
    : LambdaScheduler(std::move(alphas_cumprod), config.solver),
      config_(std::move(config)),
      algorithm_(config_.algorithm_type == "deis" ? "dpmsolver++" : config_.algorithm_type) {}

Tensor DpmSolver::convert(const Tensor& model_output, size_t index, const Tensor& sample) const {
  Tensor output = model_output;
  if (config_.learned_variance()) {
    if (sample.size(1) != 3 || model_output.size(1) < 3) {
      throw Unsupported(
          Finding{"scheduler.variance_type", *config_.variance_type,
                  fmt::format("is for images of 3 channels; these samples have {}", sample.size(1)),
                  "set variance_type to null"});
    }
    output = model_output.narrow(1, 0, 3);
  }
  if (predicts_original()) return predict_original(output, index, sample);
  Tensor epsilon = predict_epsilon(output, index, sample);
  if (!solver_.clip.thresholding) return epsilon;
  const Point& at = point(index);
  Tensor original = threshold_sample((sample - epsilon * at.sigma) / at.alpha, solver_.clip);
  return (sample - original * at.alpha) / at.sigma;
}

DpmCoefficients dpm_coefficients(const std::string& algorithm, const LambdaPoint& start,
                                 const LambdaPoint& end, DpmForm form) {
  float h = end.lambda - start.lambda;
  if (h == 0) form = DpmForm::first;
  bool derivative = form == DpmForm::heun || form == DpmForm::full;
  DpmCoefficients c{};
  // A last sigma above the one before it (flow sigmas ending at sigma_min) is a step back, h < 0:
  // there is no noise to add, where the reference takes the root of a negative number.
  if (algorithm == "dpmsolver++") {
    float phi = torch_exp(-h) - 1;
    c = {.sample = end.sigma / start.sigma, .d0 = -(end.alpha * phi)};
    if (form == DpmForm::midpoint) c.d1 = 0.5F * c.d0;
    if (derivative) c.d1 = end.alpha * (phi / h + 1);
    if (form == DpmForm::full) c.d2 = -(end.alpha * ((phi + h) / (h * h) - 0.5F));
  } else if (algorithm == "dpmsolver") {
    float phi = torch_exp(h) - 1;
    c = {.sample = end.alpha / start.alpha, .d0 = -(end.sigma * phi)};
    if (form == DpmForm::midpoint) c.d1 = 0.5F * c.d0;
    if (derivative) c.d1 = -(end.sigma * (phi / h - 1));
    if (form == DpmForm::full) c.d2 = -(end.sigma * ((phi - h) / (h * h) - 0.5F));
  } else if (algorithm == "sde-dpmsolver++") {
    float phi = 1 - torch_exp(-2 * h);
    c = {.sample = end.sigma / start.sigma * torch_exp(-h), .d0 = end.alpha * phi};
    if (form == DpmForm::midpoint) c.d1 = 0.5F * c.d0;
    if (derivative) c.d1 = end.alpha * (phi / (-2 * h) + 1);
    if (form == DpmForm::full) c.d2 = end.alpha * ((phi - 2 * h) / (4 * h * h) - 0.5F);
    c.noise = end.sigma * torch_sqrt(std::max(phi, 0.0F));
  } else {  // sde-dpmsolver, which has no third order
    float phi = torch_exp(h) - 1;
    c = {.sample = end.alpha / start.alpha, .d0 = -(2 * (end.sigma * phi))};
    if (form == DpmForm::midpoint) c.d1 = 0.5F * c.d0;
    if (derivative) c.d1 = -(2 * (end.sigma * (phi / h - 1)));
    c.noise = end.sigma * torch_sqrt(std::max(torch_exp(2 * h) - 1, 0.0F));
  }
  return c;
}

Tensor dpm_update(const DpmCoefficients& c, const Tensor& sample, const Slopes& slopes,
                  const Tensor& drawn) {
  Tensor result = sample * c.sample + slopes.d0 * c.d0;
  if (slopes.d1.defined() && c.d1 != 0) result = result + slopes.d1 * c.d1;
  if (slopes.d2.defined() && c.d2 != 0) result = result + slopes.d2 * c.d2;
  return drawn.defined() ? result + drawn * c.noise : result;
}

size_t MultistepOrders::at(size_t index) const {
  constexpr size_t few_calls = 15;
  bool few = lower_order_final && calls < few_calls;
  if (index + 1 == calls && (euler_at_final || few || to_zero)) return 1;
  size_t order = std::min<size_t>(3, static_cast<size_t>(solver_order));
  return index + 2 == calls && few ? std::min<size_t>(2, order) : order;
}

size_t MultistepOrders::highest() const {
  size_t most = 1;
  for (size_t i = 0; i < calls; ++i) most = std::max(most, std::min(at(i), i + 1));
  return most;
}

DpmForm multistep_form(size_t order, const std::string& solver_type) {
  if (order == 1) return DpmForm::first;
  if (order == 3) return DpmForm::full;
  return solver_type == "heun" ? DpmForm::heun : DpmForm::midpoint;
}

Slopes multistep_slopes(std::span<const LambdaPoint> points, size_t index,
                        const std::vector<Tensor>& outputs, size_t order) {
  auto output = [&](size_t back) { return outputs[outputs.size() - back]; };
  if (order == 1) return {output(1), {}, {}};
  float h = points[index + 1].lambda - points[index].lambda;
  float r0 = (points[index].lambda - points[index - 1].lambda) / h;
  Tensor first = (output(1) - output(2)) * (1 / r0);
  if (order == 2) return {output(1), first, {}};
  float r1 = (points[index - 1].lambda - points[index - 2].lambda) / h;
  Tensor change = first - (output(2) - output(3)) * (1 / r1);
  return {output(1), first + change * (r0 / (r0 + r1)), change * (1 / (r0 + r1))};
}

double DpmSolver::last_sigma() const {
  return config_.final_sigmas_type == "zero" ? 0.0 : table_.front();
}

}  // namespace omnirt
