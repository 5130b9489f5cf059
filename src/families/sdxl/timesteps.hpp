#pragma once
#include "blocks/set_timesteps.hpp"
#include "blocks/slots.hpp"
#include "families/sdxl/keys.hpp"

namespace omnirt::families {

// Plans a run from noise, which may end before the schedule does (reference:
// StableDiffusionXLPipeline, denoising_end).
class SetTimestepsXL final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<double> eta{this, keys::eta};
  Config<double> denoising_end{this, keys::denoising_end};
  Output<Schedule> schedule{this, slots::schedule};

  explicit SetTimestepsXL(Trigger trigger)
      : Block("set_timesteps", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

// Plans a run from an image or latents: the last part of the schedule, as long as strength says, or
// as denoising_start leaves (reference: StableDiffusionXLImg2ImgPipeline.get_timesteps).
class SetPartialTimestepsXL final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<double> strength{this, keys::strength};
  Config<double> eta{this, keys::eta};
  Config<double> denoising_start{this, keys::denoising_start};
  Config<double> denoising_end{this, keys::denoising_end};
  Output<Schedule> schedule{this, slots::schedule};

  explicit SetPartialTimestepsXL(Trigger trigger)
      : Block("set_partial_timesteps", Stage::prepare_latents, Guidance::shared,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

}  // namespace omnirt::families
