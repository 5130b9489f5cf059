#include "blocks/shifted_timesteps.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/checks.hpp"

namespace omnirt::blocks {
namespace {

// Levels are spread evenly before the shift where the scheduler is given them and takes them.
std::shared_ptr<Scheduler> planned_shifted(const SchedulerChoice& choice, const LevelShift& shift,
                                           int64_t steps, int64_t tokens) {
  std::shared_ptr<Scheduler> scheduler = choice.make();
  StepPlan plan = choice.plan(steps);
  plan.mu = shift.mu(choice.config, tokens, steps);
  plan.even_levels = shift.gives_levels && scheduler->takes_even_levels();
  scheduler->set_timesteps(plan);
  return scheduler;
}

int64_t tokens_of_image(const nn::Autoencoder& vae, const LevelShift& shift, int64_t height,
                        int64_t width) {
  if (shift.counts_channels) return vae.latent_channels();
  int64_t pixels = vae.factors().side * shift.patch;
  return (height / pixels) * (width / pixels);
}

// The reference gives levels to a scheduler, which must take them, unless it spreads flow's own.
void check_takes_levels(Checks& checks, const LevelShift& shift, const SchedulerChoice& choice) {
  if (!shift.gives_levels || !choice.info) return;  // one without info was refused
  bool flow = choice.config.value("use_flow_sigmas", Json(false)) == Json(true);
  if (flow || choice.make()->takes_even_levels()) return;
  checks.error({"config.scheduler", choice.info->class_name,
                "this model's levels of noise cannot be given to it",
                "use FlowMatchEulerDiscreteScheduler, or set use_flow_sigmas where it has that"});
}

double number_of(const Json& config, const char* key, double fallback) {
  Json value = config.value(key, Json());
  return value.is_number() ? value.get<double>() : fallback;
}

}  // namespace

std::vector<std::string> schedulers_that_take_levels() {
  return {"FlowMatchEulerDiscreteScheduler"};
}

std::vector<std::string> compared_flow_schedulers() {
  return {"FlowMatchEulerDiscreteScheduler", "FlowMatchHeunDiscreteScheduler"};
}

double linear_mu(const Json& scheduler_config, int64_t tokens, int64_t /*steps*/) {
  double base_length = number_of(scheduler_config, "base_image_seq_len", 256);
  double max_length = number_of(scheduler_config, "max_image_seq_len", 4096);
  double base_shift = number_of(scheduler_config, "base_shift", 0.5);
  double max_shift = number_of(scheduler_config, "max_shift", 1.15);
  double slope = (max_shift - base_shift) / (max_length - base_length);
  return static_cast<double>(tokens) * slope + (base_shift - slope * base_length);
}

int64_t first_flow_step(int64_t steps, double strength) {
  auto all = static_cast<double>(steps);
  double walked = std::min(all * strength, all);
  return static_cast<int64_t>(std::max(all - walked, 0.0));
}

FirstStep in_flow_steps() {
  return {first_flow_step, [](int64_t) { return 0.0; }};
}

void SetShiftedTimesteps::check(Checks& checks) const {
  check_takes_levels(checks, shift_, checks[scheduler]);
}

void SetShiftedTimesteps::run(Frame& frame) const {
  int64_t tokens = tokens_of_image(frame[vae], shift_, frame[height], frame[width]);
  frame[schedule] = {planned_shifted(frame[scheduler], shift_, frame[num_inference_steps], tokens),
                     0};
}

void SetPartialShiftedTimesteps::check(Checks& checks) const {
  check_takes_levels(checks, shift_, checks[scheduler]);
  const int64_t steps = checks[num_inference_steps];
  const FirstStep first = in_flow_steps();
  if (first.of(steps, checks[strength]) >= steps) first.refuse(checks, strength, steps);
}

void SetPartialShiftedTimesteps::run(Frame& frame) const {
  int64_t steps = frame[num_inference_steps];
  int64_t tokens = tokens_of_image(frame[vae], shift_, frame[height], frame[width]);
  frame[schedule] = begun_at(planned_shifted(frame[scheduler], shift_, steps, tokens),
                             first_flow_step(steps, frame[strength]));
}

std::shared_ptr<Scheduler> DenoiseShiftedHires::whole_schedule(const SchedulerChoice& choice,
                                                               int64_t steps,
                                                               double /*eta_of_steps*/,
                                                               at::IntArrayRef latents) const {
  const int64_t tokens = latents[2] * latents[3] / (shift_.patch * shift_.patch);
  return planned_shifted(choice, shift_, steps, shift_.counts_channels ? latents[1] : tokens);
}

void add_shifted_hires(BlockList& list, const LevelShift& shift, const DenoiseOptions& options,
                       const Trigger& hires) {
  add_hires(list, std::make_shared<DenoiseShiftedHires>(shift, hires_options(options, hires)),
            hires);
}

}  // namespace omnirt::blocks
