#pragma once
#include "blocks/denoise_parts.hpp"
#include "blocks/set_timesteps.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::blocks {

// The loop over a schedule's calls. At each step it runs its blocks: `prepare_input` makes the
// network's input, `predict` asks the network, `step` takes the scheduler's step. Each can be
// replaced, and others inserted before, between and after them.
class DenoiseLoop : public WalkLoop {
 public:
  Input<Schedule> schedule{this, slots::schedule};
  InOut<Tensor> latents{this, slots::latents};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};

  // Throws InvalidRequest for parts that the loop cannot run.
  explicit DenoiseLoop(const DenoiseOptions& options = {});
  Walk begin(Frame& frame) const override;
  bool want(Frame& frame, Walk& walk, std::vector<Row>& rows) const override;
  void accept(Frame& frame, Walk& walk, const std::vector<Tensor>& predictions) const override;
  void finish(Frame& frame, Walk& walk) const override;
  Denoiser denoiser(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;
  BlockList inner() const override { return options_.parts; }
  std::shared_ptr<const Block> with_inner(const BlockList& inner) const override;

 protected:
  // A walk of these latents along this schedule, with all that the loop's steps share.
  Walk begun(Frame& frame, Schedule along, Tensor from) const;
  // The same loop with other options.
  virtual std::shared_ptr<const Block> with_options(const DenoiseOptions& options) const;

 private:
  size_t asks_at() const;
  void run_parts(Frame& frame, Walk& walk, size_t first, size_t end) const;

  DenoiseOptions options_;
  const PredictPart* predict_ = nullptr;  // null: no part asks the network
};

}  // namespace omnirt::blocks
