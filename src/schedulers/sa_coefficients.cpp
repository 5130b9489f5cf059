#include "schedulers/sa_coefficients.hpp"

#include <array>

#include "base/ensure.hpp"
#include "schedulers/prediction.hpp"

namespace omnirt {
namespace {

// x^power + ... as both integrals have it: the derivatives of x^power with alternating signs
// (`sign` -1) or all added (1).
float polynomial(float x, size_t power, float sign) {
  if (power == 0) return 1;
  if (power == 1) return x + sign;
  float square = x * x;
  if (power == 2) return square + sign * 2 * x + 2;
  return square * x + sign * 3 * square + 6 * x + sign * 6;
}

float power_of(float base, size_t exponent) {
  float product = 1;
  for (size_t i = 0; i < exponent; ++i) product *= base;
  return product;
}

// The integral of x^power e^x over the step, x being lambda times 1 + tau^2.
float positive_integral(const SaStep& step, size_t power) {
  auto scale = static_cast<float>(1 + step.tau * step.tau);
  float to = scale * step.to, from = scale * step.from;
  float falling = torch_exp(-(to - from));
  float inner =
      power == 0 ? 1 - falling : polynomial(to, power, -1) - polynomial(from, power, -1) * falling;
  return torch_exp(to) * inner / power_of(scale, power + 1);
}

// The integral of x^power e^-x over the step.
float negative_integral(const SaStep& step, size_t power) {
  float rising = torch_exp(step.to - step.from);
  float inner = power == 0
                    ? rising - 1
                    : polynomial(step.from, power, 1) * rising - polynomial(step.to, power, 1);
  return torch_exp(-step.to) * inner;
}

// The coefficients, the highest power first, of the polynomial that is 1 at lambdas[which] and 0 at
// the others.
std::array<float, 4> lagrange(std::span<const float> lambdas, size_t which) {
  std::vector<float> others;
  for (size_t i = 0; i < lambdas.size(); ++i) {
    if (i != which) others.push_back(lambdas[i]);
  }
  if (others.empty()) return {1};
  float denominator = lambdas[which] - others[0];
  for (size_t i = 1; i < others.size(); ++i) denominator *= lambdas[which] - others[i];
  if (others.size() == 1) return {1 / denominator, -others[0] / denominator};
  if (others.size() == 2) {
    return {1 / denominator, (-others[0] - others[1]) / denominator,
            others[0] * others[1] / denominator};
  }
  return {1 / denominator, (-others[0] - others[1] - others[2]) / denominator,
          (others[0] * others[1] + others[0] * others[2] + others[1] * others[2]) / denominator,
          -others[0] * others[1] * others[2] / denominator};
}

template <class Integral>
std::vector<float> weights_of(const SaStep& step, std::span<const float> lambdas,
                              Integral&& integral) {
  ensure(!lambdas.empty() && lambdas.size() <= 4, "SA-Solver of order {}", lambdas.size());
  std::vector<float> weights;
  for (size_t i = 0; i < lambdas.size(); ++i) {
    std::array<float, 4> polynomial = lagrange(lambdas, i);
    float weight = 0;
    for (size_t j = 0; j < lambdas.size(); ++j)
      weight += polynomial[j] * integral(step, lambdas.size() - 1 - j);
    weights.push_back(weight);
  }
  return weights;
}

}  // namespace

std::vector<float> sa_data_coefficients(const SaStep& step, std::span<const float> lambdas,
                                        bool corrects) {
  std::vector<float> weights = weights_of(step, lambdas, positive_integral);
  if (lambdas.size() != 2) return weights;
  auto scale = static_cast<float>(1 + step.tau * step.tau);
  float h = step.to - step.from;
  float rest = h * scale - 1 + torch_exp(scale * -h);
  float square = scale * scale;
  float change = torch_exp(scale * step.to);
  if (corrects)
    change = change * (h / 2 - rest / (square * h));
  else
    change = change * (h * h / 2 - rest / square) / (step.from - lambdas[1]);
  weights[0] += change;
  weights[1] -= change;
  return weights;
}

std::vector<float> sa_noise_coefficients(const SaStep& step, std::span<const float> lambdas) {
  return weights_of(step, lambdas, negative_integral);
}

}  // namespace omnirt
