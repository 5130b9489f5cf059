#include "schedulers/numpy_math.hpp"

#include <cmath>
#include <numbers>

namespace omnirt::np {

std::vector<double> linspace(double start, double stop, int64_t n) {
  std::vector<double> values(static_cast<size_t>(n));
  double step = n > 1 ? (stop - start) / static_cast<double>(n - 1) : 0.0;
  for (int64_t i = 0; i < n; ++i) {
    values[static_cast<size_t>(i)] = static_cast<double>(i) * step + start;
  }
  if (n > 1) values.back() = stop;
  return values;
}

std::vector<double> arange(double start, double stop, double step) {
  auto n = static_cast<int64_t>(std::ceil((stop - start) / step));
  std::vector<double> values;
  double delta = (start + step) - start;  // numpy fills with the difference of the first two values
  for (int64_t i = 0; i < n; ++i) {
    values.push_back(i == 1 ? start + step : start + static_cast<double>(i) * delta);
  }
  return values;
}

double interp(double x, std::span<const float> table) {
  if (!(x > 0)) return table.front();
  auto last = static_cast<double>(table.size() - 1);
  if (x >= last) return table.back();
  double low = std::floor(x);
  double y = table[static_cast<size_t>(low)];
  if (low == x) return y;
  double slope = static_cast<double>(table[static_cast<size_t>(low) + 1]) - y;
  return slope * (x - low) + y;
}

double round(double x) {
  return std::nearbyint(x);  // the default rounding mode is to even
}

// numpy/_core/src/umath/loops_exponent_log.dispatch.c.src: log(m 2^e) = P(m - 1) / Q(m - 1) + e ln
// 2 with m in (sqrt(1/2), sqrt(2)], every multiply-add fused.
float log(float x) {
  constexpr double p[] = {0.0,
                          9.999999999999998702752e-01,
                          2.112677543073053063722e+00,
                          1.480000633576506585156e+00,
                          3.808837741388407920751e-01,
                          2.589979117907922693523e-02};
  constexpr double q[] = {1.0,
                          2.612677543073109236779e+00,
                          2.453006071784736363091e+00,
                          9.864942958519418960339e-01,
                          1.546476374983906719538e-01,
                          5.875095403124574342950e-03};
  int exponent = 0;
  float mantissa = std::frexp(x, &exponent);
  if (mantissa <= std::numbers::sqrt2_v<float> / 2) {
    mantissa *= 2;
    --exponent;
  }
  float y = mantissa - 1.0F;
  auto numerator = static_cast<float>(p[5]);
  auto denominator = static_cast<float>(q[5]);
  for (int i = 4; i >= 0; --i) {
    numerator = std::fma(numerator, y, static_cast<float>(p[i]));
    denominator = std::fma(denominator, y, static_cast<float>(q[i]));
  }
  return std::fma(static_cast<float>(exponent), std::numbers::ln2_v<float>,
                  numerator / denominator);
}

}  // namespace omnirt::np
