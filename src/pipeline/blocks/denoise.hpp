#pragma once
#include "nn/denoiser_network.hpp"
#include "pipeline/blocks/set_timesteps.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop.hpp"
#include "tensor/generator.hpp"

namespace omnirt::blocks {

// Where a denoise loop stands.
struct DenoiseState {
  size_t index = 0;  // the call that is next
  size_t end = 0;
  std::vector<std::string> asked;  // conditions of the rows that are out, in the order of the rows
};

// The loop over a schedule's calls: asks for a prediction a picture and condition, lets the guider
// combine them, and takes the scheduler's step. Optional inputs serve inpainting: extra channels
// beside the latents, and what is put back where the mask keeps the picture.
class DenoiseLoop final : public LoopBlock {
 public:
  Component<nn::DenoiserNetwork> unet{this, "unet"};
  Config<int64_t> max_batch_rows{this, keys::max_batch_rows};
  Config<double> guidance_scale{this, keys::guidance_scale};
  Config<std::string> cache{this, keys::cache};
  Config<int64_t> cache_interval{this, keys::cache_interval};
  Config<int64_t> cache_branch{this, keys::cache_branch};
  Input<Schedule> schedule{this, "schedule", "the walk from noise to picture"};
  Input<Tensor> prompt_embeds{this, "prompt_embeds", "what the prompt means", {"B", "T", "D"}};
  OptionalInput<Tensor> extra_channels{
      this, "extra_channels", "beside the latents", {"B", "C'", "H/8", "W/8"}};
  OptionalInput<Tensor> keep_mask{
      this, "keep_mask", "0 where the picture is put back each step", {"1", "1", "H/8", "W/8"}};
  OptionalInput<Tensor> image_latents{
      this, "image_latents", "the given picture", {"B", "C", "H/8", "W/8"}};
  OptionalInput<Tensor> noise{this, "noise", "the first draw", {"B", "C", "H/8", "W/8"}};
  InOut<Tensor> latents{this, "latents", "from noise to picture", {"B", "C", "H/8", "W/8"}};
  InOut<std::shared_ptr<Noise>> noise_source{this, "noise_source", "the generators, one a picture"};
  Output<DenoiseState> state{this, "denoise_state", "where the loop stands"};

  DenoiseLoop() : LoopBlock("denoise", Stage::denoise_loop, Guidance::takes_over) {}
  void start(Frame& frame) const override;
  bool want(Frame& frame, std::vector<Row>& rows) const override;
  void accept(Frame& frame, const std::vector<Tensor>& predictions) const override;
  Denoiser denoiser(Frame& frame) const override;
  LoopProgress progress(Frame& frame) const override;
  const Tensor& sample(Frame& frame) const override;
  void check(Proposal& proposal) const override;
  void check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const override;

 private:
  SharedStep step(Frame& frame) const;
  std::map<std::string, Tensor> constants(Frame& frame, const Tensor& embeds) const;
  void keep_masked(Frame& frame, size_t index) const;
};

}  // namespace omnirt::blocks
