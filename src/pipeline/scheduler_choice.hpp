#pragma once
#include <memory>
#include <string>
#include <vector>

#include "schedulers/scheduler.hpp"

namespace omnirt {

// The scheduler that a run uses, as validation settled it: the class, and its config with the
// request's over the folder's. Each run makes its own from it.
struct SchedulerChoice {
  const SchedulerInfo* info = nullptr;
  Json config = Json::object();
  std::string where;                // the config file, for errors
  std::vector<double> timesteps{};  // the run's own levels; mostly none
  std::vector<double> sigmas{};
  // A plan of `steps`, with the levels given.
  StepPlan plan(int64_t steps) const {
    return {.num_inference_steps = steps, .timesteps = timesteps, .sigmas = sigmas};
  }
  std::unique_ptr<Scheduler> make() const { return info->make(config, where); }
};

}  // namespace omnirt
