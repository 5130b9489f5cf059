#include "families/flux2/timesteps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/checks.hpp"

namespace omnirt::flux2 {
namespace {

// Levels evenly spread before the shift, where the scheduler takes them from outside.
std::shared_ptr<Scheduler> planned(const SchedulerChoice& choice, int64_t steps, int64_t tokens) {
  std::shared_ptr<Scheduler> scheduler = choice.make();
  StepPlan plan = choice.plan(steps);
  plan.mu = empirical_mu(tokens, steps);
  plan.even_levels = scheduler->takes_even_levels();
  scheduler->set_timesteps(plan);
  return scheduler;
}

int64_t tokens_of(const nn::Autoencoder& vae, int64_t height, int64_t width) {
  return (height / vae.scale_factor()) * (width / vae.scale_factor());
}

// The reference gives levels to a scheduler, which must take them, unless it spreads flow's own.
void check_scheduler(Checks& checks, const SchedulerChoice& choice) {
  if (!choice.info) return;  // it was refused
  bool flow = choice.config.value("use_flow_sigmas", Json(false)) == Json(true);
  if (flow || choice.make()->takes_even_levels()) return;
  checks.error({"config.scheduler", choice.info->class_name,
                "this model's levels of noise cannot be given to it",
                "use FlowMatchEulerDiscreteScheduler, or set use_flow_sigmas where it has that"});
}

// Where a walk with `strength` starts (reference: Flux2KleinInpaintPipeline.get_timesteps).
int64_t first_step(int64_t steps, double strength) {
  auto all = static_cast<double>(steps);
  double walked = std::min(all * strength, all);
  return static_cast<int64_t>(std::max(all - walked, 0.0));
}

}  // namespace

double empirical_mu(int64_t image_tokens, int64_t steps) {
  constexpr double a1 = 8.73809524e-05, b1 = 1.89833333;
  constexpr double a2 = 0.00016927, b2 = 0.45666666;
  constexpr int64_t large = 4300;
  auto tokens = static_cast<double>(image_tokens);
  double at_200_steps = a2 * tokens + b2;
  if (image_tokens > large) return at_200_steps;
  double at_10_steps = a1 * tokens + b1;
  double slope = (at_200_steps - at_10_steps) / 190.0;
  return slope * static_cast<double>(steps) + (at_200_steps - 200.0 * slope);
}

void SetTimesteps::check(Checks& checks) const {
  check_scheduler(checks, checks[scheduler]);
}

void SetTimesteps::run(Frame& frame) const {
  int64_t tokens = tokens_of(frame[vae], frame[height], frame[width]);
  frame[schedule] = {planned(frame[scheduler], frame[num_inference_steps], tokens), 0};
}

void SetPartialTimesteps::check(Checks& checks) const {
  check_scheduler(checks, checks[scheduler]);
  int64_t steps = checks[num_inference_steps];
  if (first_step(steps, checks[strength]) < steps) return;
  checks.error({"config.strength", fmt::format("{}", checks[strength]),
                fmt::format("leaves none of the {} steps", steps), "give more than 0"});
}

void SetPartialTimesteps::run(Frame& frame) const {
  int64_t steps = frame[num_inference_steps];
  int64_t tokens = tokens_of(frame[vae], frame[height], frame[width]);
  frame[schedule] = blocks::begun_at(planned(frame[scheduler], steps, tokens),
                                     first_step(steps, frame[strength]));
}

std::shared_ptr<Scheduler> DenoiseHires::whole_schedule(const SchedulerChoice& choice,
                                                        int64_t steps, double /*eta_of_steps*/,
                                                        int64_t places) const {
  return planned(choice, steps, places);
}

int64_t DenoiseHires::first_of(int64_t steps, double strength) const {
  return first_step(steps, strength);
}

}  // namespace omnirt::flux2
