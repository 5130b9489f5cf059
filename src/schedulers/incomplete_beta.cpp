#include "schedulers/incomplete_beta.hpp"

#include <cmath>

namespace omnirt {
namespace {

double log_beta(double a, double b) {
  return std::lgamma(a) + std::lgamma(b) - std::lgamma(a + b);
}

// The continued fraction of DLMF 8.17.22, evaluated by Lentz's method; it converges quickly where
// x < (a + 1) / (a + b + 2).
double continued_fraction(double x, double a, double b) {
  constexpr double tiny = 1e-300;
  auto apart = [](double v) { return std::abs(v) < tiny ? tiny : v; };
  double c = 1.0;
  double d = 1.0 / apart(1.0 - (a + b) * x / (a + 1.0));
  double value = d;
  for (int m = 1; m <= 500; ++m) {
    double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1.0 / apart(1.0 + even * d);
    c = apart(1.0 + even / c);
    value *= d * c;
    double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1.0 / apart(1.0 + odd * d);
    c = apart(1.0 + odd / c);
    value *= d * c;
    if (std::abs(d * c - 1.0) < 1e-16) break;
  }
  return value;
}

}  // namespace

double beta_cdf(double x, double a, double b) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  double front = std::exp(a * std::log(x) + b * std::log1p(-x) - log_beta(a, b));
  if (x < (a + 1) / (a + b + 2)) return front * continued_fraction(x, a, b) / a;
  return 1 - front * continued_fraction(1 - x, b, a) / b;
}

// Newton's method kept inside a bracket that bisection narrows, so that it cannot run away where
// the density is steep (at both ends, for a or b below 1).
double beta_quantile(double q, double a, double b) {
  if (!(q > 0)) return 0;
  if (q >= 1) return 1;
  // Near x = 1 the function itself loses digits; its mirror image does not.
  if (q > 0.5) return 1 - beta_quantile(1 - q, b, a);
  double low = 0;
  double high = 1;
  double x = 0.5;
  for (int i = 0; i < 200; ++i) {
    double error = beta_cdf(x, a, b) - q;
    (error > 0 ? high : low) = x;
    double density = std::exp((a - 1) * std::log(x) + (b - 1) * std::log1p(-x) - log_beta(a, b));
    double next = x - error / density;
    if (!(next > low && next < high)) next = (low + high) / 2;
    if (std::abs(next - x) <= 1e-16 * x) return next;
    x = next;
  }
  return x;
}

}  // namespace omnirt
