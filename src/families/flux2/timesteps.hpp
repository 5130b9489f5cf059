#pragma once
#include "blocks/hires.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/slots.hpp"
#include "nn/autoencoder.hpp"

namespace omnirt::flux2 {

// How far noise levels are shifted for an image of so many tokens walked in so many steps
// (reference: pipeline_flux2.compute_empirical_mu).
double empirical_mu(int64_t image_tokens, int64_t steps);

// Plans the whole schedule, its levels shifted by the size of the image.
class SetTimesteps final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Output<Schedule> schedule{this, slots::schedule};

  explicit SetTimesteps(Trigger trigger)
      : Block("set_timesteps", Stage::prepare_latents, Guidance::shared, std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

// Plans its last part, as long as strength says.
class SetPartialTimesteps final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<double> strength{this, keys::strength};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Output<Schedule> schedule{this, slots::schedule};

  explicit SetPartialTimesteps(Trigger trigger)
      : Block("set_partial_timesteps", Stage::prepare_latents, Guidance::shared,
              std::move(trigger)) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;
};

// The second pass of a text's image: its schedule is shifted by its own size, and begins as
// inpainting's does.
class DenoiseHires final : public blocks::DenoiseHires {
 public:
  using blocks::DenoiseHires::DenoiseHires;

 protected:
  std::shared_ptr<Scheduler> whole_schedule(const SchedulerChoice& choice, int64_t steps,
                                            double eta_of_steps, int64_t places) const override;
  int64_t first_of(int64_t steps, double strength) const override;
};

}  // namespace omnirt::flux2
