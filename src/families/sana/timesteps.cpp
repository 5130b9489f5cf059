#include "families/sana/timesteps.hpp"

#include <fmt/format.h>

#include "blocks/shifted_timesteps.hpp"

namespace omnirt::sana {

void SetPartialTimesteps::check(Checks& checks) const {
  const int64_t steps = checks[num_inference_steps];
  const double part = checks[strength];
  if (blocks::first_flow_step(steps, part) < steps) return;
  checks.error({"config.strength", fmt::format("{}", part),
                fmt::format("leaves none of the {} steps", steps), "give more than 0"});
}

void SetPartialTimesteps::run(Frame& frame) const {
  const int64_t steps = frame[num_inference_steps];
  frame[schedule] = blocks::begun_at(blocks::planned(frame[scheduler], steps, frame[eta]),
                                     blocks::first_flow_step(steps, frame[strength]));
}

}  // namespace omnirt::sana
