#include "blocks/set_timesteps.hpp"

#include <fmt/format.h>

#include "pipeline/checks.hpp"

namespace omnirt::blocks {

std::shared_ptr<Scheduler> planned(const SchedulerChoice& choice, int64_t steps, double eta) {
  std::shared_ptr<Scheduler> scheduler = choice.make();
  scheduler->set_timesteps({.num_inference_steps = steps, .eta = eta});
  return scheduler;
}

int64_t first_step(int64_t steps, double strength) {
  auto walked = std::min(static_cast<int64_t>(static_cast<double>(steps) * strength), steps);
  return std::max<int64_t>(steps - walked, 0);
}

void SetTimesteps::run(Frame& frame) const {
  frame[schedule] = {planned(frame[scheduler], frame[num_inference_steps], frame[eta]), 0};
}

void SetPartialTimesteps::check(Checks& checks) const {
  int64_t steps = checks[num_inference_steps];
  if (first_step(steps, checks[strength]) < steps) return;
  checks.error(
      {"config.strength", fmt::format("{}", checks[strength]),
       fmt::format("leaves none of the {} steps", steps),
       fmt::format("give at least {:.3g}, or more steps", 1.0 / static_cast<double>(steps))});
}

void SetPartialTimesteps::run(Frame& frame) const {
  auto scheduler_of_run = planned(frame[scheduler], frame[num_inference_steps], frame[eta]);
  int64_t first =
      first_step(frame[num_inference_steps], frame[strength]) * scheduler_of_run->order();
  auto begin = static_cast<size_t>(first);
  ensure(begin < scheduler_of_run->timesteps().size(), "the walk begins at call {} of {}", begin,
         scheduler_of_run->timesteps().size());
  scheduler_of_run->set_begin(begin);
  frame[schedule] = {std::move(scheduler_of_run), begin};
}

}  // namespace omnirt::blocks
