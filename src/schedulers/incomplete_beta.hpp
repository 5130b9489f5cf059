#pragma once

namespace omnirt {

// The regularized incomplete beta function I_x(a, b): the distribution function of Beta(a, b) at x
// in [0, 1]; a, b > 0. Relative error about 1e-14.
double beta_cdf(double x, double a, double b);

// Its inverse in x (scipy.stats.beta.ppf): q in [0, 1]. Absolute error below 1e-13.
double beta_quantile(double q, double a, double b);

}  // namespace omnirt
