#include "blocks/set_timesteps.hpp"

#include <fmt/format.h>

#include "pipeline/checks.hpp"

namespace omnirt::blocks {

std::shared_ptr<Scheduler> planned(const SchedulerChoice& choice, int64_t steps, double eta) {
  std::shared_ptr<Scheduler> scheduler = choice.make();
  StepPlan plan = choice.plan(steps);
  plan.eta = eta;
  scheduler->set_timesteps(plan);
  return scheduler;
}

int64_t first_step(int64_t steps, double strength) {
  auto walked = std::min(static_cast<int64_t>(static_cast<double>(steps) * strength), steps);
  return std::max<int64_t>(steps - walked, 0);
}

Schedule begun_at(std::shared_ptr<Scheduler> scheduler, int64_t first) {
  auto begin = static_cast<size_t>(first * scheduler->order());
  ensure(begin < scheduler->timesteps().size(), "denoising begins at call {} of {}", begin,
         scheduler->timesteps().size());
  scheduler->set_begin(begin);
  return {std::move(scheduler), begin};
}

void SetTimesteps::run(Frame& frame) const {
  frame[schedule] = {planned(frame[scheduler], frame[num_inference_steps], frame[eta]), 0};
}

FirstStep in_whole_steps() {
  return {first_step, [](int64_t steps) { return 1.0 / static_cast<double>(steps); }};
}

void FirstStep::refuse(Checks& checks, const Config<double>& strength, int64_t steps) const {
  const double enough = least(steps);
  checks.error({"config." + strength.name(), fmt::format("{}", checks[strength]),
                fmt::format("leaves none of the {} steps", steps),
                enough == 0 ? "give more than 0"
                            : fmt::format("give at least {:.3g}, or more steps", enough)});
}

void SetPartialTimesteps::check(Checks& checks) const {
  int64_t steps = checks[num_inference_steps];
  if (first_.of(steps, checks[strength]) >= steps) first_.refuse(checks, strength, steps);
}

void SetPartialTimesteps::run(Frame& frame) const {
  int64_t steps = frame[num_inference_steps];
  frame[schedule] =
      begun_at(planned(frame[scheduler], steps, frame[eta]), first_.of(steps, frame[strength]));
}

}  // namespace omnirt::blocks
