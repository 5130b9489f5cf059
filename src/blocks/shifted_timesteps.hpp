#pragma once
#include "blocks/hires.hpp"
#include "blocks/set_timesteps.hpp"
#include "blocks/slots.hpp"
#include "nn/autoencoder.hpp"

namespace omnirt::blocks {

// How far a model's levels of noise are shifted for the size of the image (StepPlan::mu).
struct LevelShift {
  // Of a scheduler with this config, for this many tokens denoised in this many steps.
  double (*mu)(const Json& scheduler_config, int64_t tokens, int64_t steps);
  int64_t patch = 1;  // latents of a token, in height and in width
  // Levels spread evenly before the shift are given to the scheduler; else it has its own.
  bool gives_levels = true;
  bool counts_channels = false;  // the shift goes by the latents' channels in place of tokens
};

// The shift that grows with the number of tokens, through (base_image_seq_len, base_shift) and
// (max_image_seq_len, max_shift) of the scheduler's config (reference: pipeline_flux.py
// calculate_shift).
double linear_mu(const Json& scheduler_config, int64_t tokens, int64_t steps);

// Of the schedulers for flow matching, those that levels of noise can be given to, as the
// reference's pipelines with such levels do, and whose runs are compared with the reference's:
// FlowMatchLCMScheduler takes levels, too, but the reference's pipelines draw its noise without a
// seed.
std::vector<std::string> schedulers_that_take_levels();
// Those of pipelines that leave the levels to the scheduler, whose runs are compared.
std::vector<std::string> compared_flow_schedulers();

// Where flow matching with `strength` starts in a schedule of `steps`: the part that is left out is
// rounded down (reference: FluxImg2ImgPipeline.get_timesteps).
int64_t first_flow_step(int64_t steps, double strength);
FirstStep in_flow_steps();

// Plans the whole schedule, its levels shifted by the size of the image.
class SetShiftedTimesteps final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Output<Schedule> schedule{this, slots::schedule};

  SetShiftedTimesteps(const LevelShift& shift, Trigger trigger, std::string name = "set_timesteps")
      : Block(std::move(name), Stage::prepare_latents, Guidance::shared, std::move(trigger)),
        shift_(shift) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  LevelShift shift_;
};

// Plans its last part, as long as strength says.
class SetPartialShiftedTimesteps final : public Block {
 public:
  Component<SchedulerChoice> scheduler{this, "scheduler"};
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> num_inference_steps{this, keys::num_inference_steps};
  Config<double> strength{this, keys::strength};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Output<Schedule> schedule{this, slots::schedule};

  SetPartialShiftedTimesteps(const LevelShift& shift, Trigger trigger)
      : Block("set_partial_timesteps", Stage::prepare_latents, Guidance::shared,
              std::move(trigger)),
        shift_(shift) {}
  void run(Frame& frame) const override;
  void check(Checks& checks) const override;

 private:
  LevelShift shift_;
};

// The second pass of a text's image: its schedule is shifted by its own size, and begins as
// image2image's does.
class DenoiseShiftedHires final : public DenoiseHires {
 public:
  DenoiseShiftedHires(const LevelShift& shift, const DenoiseOptions& options)
      : DenoiseHires(options, in_flow_steps()), shift_(shift) {}

 protected:
  std::shared_ptr<Scheduler> whole_schedule(const SchedulerChoice& choice, int64_t steps,
                                            double eta_of_steps,
                                            at::IntArrayRef latents) const override;
  std::shared_ptr<const Block> with_options(const DenoiseOptions& options) const override {
    return std::make_shared<DenoiseShiftedHires>(shift_, options);
  }

 private:
  LevelShift shift_;
};

// The second pass with its loop, as add_hires().
void add_shifted_hires(BlockList& list, const LevelShift& shift, const DenoiseOptions& options,
                       const Trigger& hires);

}  // namespace omnirt::blocks
