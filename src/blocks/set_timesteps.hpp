#pragma once
#include <cstdint>
#include <memory>

#include "blocks/slots.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/schedule.hpp"

namespace omnirt::blocks {

// The whole schedule of `steps`.
std::shared_ptr<Scheduler> planned(const SchedulerChoice& choice, int64_t steps, double eta);

// Where image2image with `strength` starts in a schedule of `steps`: strength of them are run
// (reference: StableDiffusionImg2ImgPipeline.get_timesteps).
int64_t first_step(int64_t steps, double strength);

// The schedule from its step `first` on.
Schedule begun_at(std::shared_ptr<Scheduler> scheduler, int64_t first);

// Plans the whole schedule: images made from noise alone.
class SetTimesteps final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<double> eta{this, keys::eta};
  Output<Schedule> schedule{this, slots::schedule};

  explicit SetTimesteps(Trigger trigger)
      : Block("set_timesteps", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
};

// Plans the last part of the schedule, as long as strength says: images that start from another.
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

}  // namespace omnirt::blocks
