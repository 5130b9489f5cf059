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

// How the first step of a part of a schedule is chosen.
struct FirstStep {
  int64_t (*of)(int64_t steps, double strength);
  double (*least)(int64_t steps);  // the strength that leaves one step; 0: any above 0

  // A finding where the strength leaves none of the steps.
  void refuse(Checks& checks, const Config<double>& strength, int64_t steps) const;
};
// That of first_step().
FirstStep in_whole_steps();

// Plans the last part of the schedule, as long as strength says: images that start from another.
class SetPartialTimesteps final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<double> strength{this, keys::strength};
  Config<double> eta{this, keys::eta};
  Output<Schedule> schedule{this, slots::schedule};

  explicit SetPartialTimesteps(Trigger trigger, FirstStep first = in_whole_steps())
      : Block("set_partial_timesteps", Stage::prepare_latents, Guidance::shared,
              std::move(trigger)),
        first_(first) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  FirstStep first_;
};

}  // namespace omnirt::blocks
