#pragma once
#include "blocks/set_timesteps.hpp"
#include "pipeline/checks.hpp"

namespace omnirt::sana {

// Plans the last part of the schedule, as long as strength says: the part that is left out is
// rounded down (reference: SanaSprintImg2ImgPipeline.get_timesteps).
class SetPartialTimesteps final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<double> strength{this, keys::strength};
  Config<double> eta{this, keys::eta};
  Output<Schedule> schedule{this, slots::schedule};

  explicit SetPartialTimesteps(Trigger trigger)
      : Block("set_partial_timesteps", Stage::prepare_latents, Guidance::shared,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

}  // namespace omnirt::sana
