#include "schedulers/timestep_spacing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "schedulers/numpy_math.hpp"

namespace omnirt {
namespace {

void round_all(std::vector<double>& values) {
  for (double& value : values) value = np::round(value);
}

// 0, ratio, 2 ratio, ... from the last down.
std::vector<double> leading(int64_t ratio, int64_t n, int64_t offset) {
  std::vector<double> timesteps;
  for (int64_t i = n - 1; i >= 0; --i) timesteps.push_back(static_cast<double>(i * ratio + offset));
  return timesteps;
}

std::vector<double> trailing(int64_t train_steps, int64_t from, int64_t n) {
  double ratio = static_cast<double>(train_steps) / static_cast<double>(n);
  std::vector<double> timesteps = np::arange(static_cast<double>(from), 0, -ratio);
  round_all(timesteps);
  for (double& t : timesteps) t -= 1;
  return timesteps;
}

int64_t leading_ratio(int64_t train_steps, int64_t intervals, int64_t n) {
  if (train_steps / intervals >= 1) return train_steps / intervals;
  refuse_steps(
      n,
      fmt::format("leading timestep_spacing has no {} steps in {} training steps", n, train_steps),
      "use fewer steps, or timestep_spacing linspace");
}

}  // namespace

void SpacingConfig::check(ConfigChecks& checks, int64_t num_train_timesteps) const {
  checks.one_of("timestep_spacing", timestep_spacing, {"linspace", "leading", "trailing"});
  checks.require(
      steps_offset >= 0 && steps_offset < num_train_timesteps, "steps_offset", steps_offset,
      fmt::format("an offset of at least 0 and below {} was expected", num_train_timesteps));
}

std::vector<double> float_timesteps(const SpacingConfig& spacing, int64_t train_steps, int64_t n) {
  if (spacing.timestep_spacing == "leading") {
    return leading(leading_ratio(train_steps, n, n), n, spacing.steps_offset);
  }
  if (spacing.timestep_spacing == "trailing") return trailing(train_steps, train_steps, n);
  std::vector<double> timesteps = np::linspace(0, static_cast<double>(train_steps - 1), n);
  std::reverse(timesteps.begin(), timesteps.end());
  for (double& t : timesteps) t = static_cast<float>(t);
  return timesteps;
}

std::vector<double> table_timesteps(const SpacingConfig& spacing, int64_t train_steps, int64_t n) {
  if (n > train_steps) {
    refuse_steps(n, fmt::format("the schedule has {} training steps", train_steps),
                 fmt::format("use up to {}", train_steps));
  }
  std::vector<double> timesteps;
  if (spacing.timestep_spacing == "linspace") {
    timesteps = np::linspace(0, static_cast<double>(train_steps - 1), n);
    std::reverse(timesteps.begin(), timesteps.end());
    round_all(timesteps);
  } else {
    timesteps = float_timesteps(spacing, train_steps, n);
  }
  // The surplus value of np::arange: the reference would look it up at the far end of the table.
  if (timesteps.back() < 0) timesteps.pop_back();
  if (timesteps.front() >= static_cast<double>(train_steps)) {
    refuse_steps(n,
                 fmt::format("with steps_offset {} the first timestep is {}, past the last of {} "
                             "training steps",
                             spacing.steps_offset, timesteps.front(), train_steps),
                 "use fewer steps, or steps_offset 0");
  }
  return timesteps;
}

std::vector<double> fp32_timesteps(const std::vector<double>& given, int64_t train_steps) {
  if (!given.empty() && given.front() > static_cast<double>(train_steps - 1)) {
    refuse_given("timesteps", fmt::format("the last training step is {}", train_steps - 1),
                 "begin there or below");
  }
  std::vector<double> timesteps;
  for (double t : given) timesteps.push_back(static_cast<float>(t));
  return timesteps;
}

std::vector<double> whole_timesteps(const std::vector<double>& given, int64_t train_steps) {
  std::vector<double> timesteps;
  for (double t : fp32_timesteps(given, train_steps)) timesteps.push_back(std::trunc(t));
  check_given_list("timesteps", timesteps, true);  // cut, two can be one
  return timesteps;
}

std::vector<double> solver_timesteps(const SpacingConfig& spacing, int64_t train_steps,
                                     int64_t usable, int64_t n) {
  if (spacing.timestep_spacing == "trailing") return trailing(train_steps, usable, n);
  std::vector<double> timesteps;
  if (spacing.timestep_spacing == "leading") {
    timesteps = leading(leading_ratio(usable, n + 1, n), n + 1, spacing.steps_offset);
  } else {
    timesteps = np::linspace(0, static_cast<double>(usable - 1), n + 1);
    std::reverse(timesteps.begin(), timesteps.end());
    round_all(timesteps);
  }
  timesteps.pop_back();
  return timesteps;
}

}  // namespace omnirt
