#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "schedulers/config_checks.hpp"

namespace omnirt {

// Which of the training steps a run visits (arXiv 2305.08891, table 2).
struct SpacingConfig {
  std::string timestep_spacing = "linspace";  // or leading, trailing
  int64_t steps_offset = 0;                   // added to leading timesteps

  static void visit(auto& self, auto& v) {
    v("timestep_spacing", self.timestep_spacing);
    v("steps_offset", self.steps_offset);
  }
  void check(ConfigChecks& checks, int64_t num_train_timesteps) const;
};

// n timesteps from the noisiest down, each rounded to fp32 but not to whole numbers: for schedulers
// that interpolate between training steps. `trailing` can yield n + 1 (see np::arange).
std::vector<double> float_timesteps(const SpacingConfig& spacing, int64_t train_steps, int64_t n);

// As above in whole numbers within the training steps, for schedulers that look them up.
std::vector<double> table_timesteps(const SpacingConfig& spacing, int64_t train_steps, int64_t n);

// For multistep solvers: whole numbers, spread so that a step n + 1 would reach the end of the
// schedule. Only the `usable` least noisy training steps are visited.
std::vector<double> solver_timesteps(const SpacingConfig& spacing, int64_t train_steps,
                                     int64_t usable, int64_t n);

// A run's own timesteps, cut to whole numbers (at least 0, below train_steps, falling), or in fp32
// (up to train_steps - 1). Throws Unsupported for others.
std::vector<double> whole_timesteps(const std::vector<double>& given, int64_t train_steps);
std::vector<double> fp32_timesteps(const std::vector<double>& given, int64_t train_steps);

}  // namespace omnirt
