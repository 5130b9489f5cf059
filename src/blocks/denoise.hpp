#pragma once
#include <deque>

#include "blocks/set_timesteps.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop.hpp"
#include "tensor/generator.hpp"

namespace omnirt::blocks {

// Where a denoise loop stands.
struct DenoiseState {
  size_t index = 0;  // the call that is next
  size_t end = 0;
  // conditions of the rows that are out, in the order of the rows
  std::vector<std::string> asked{};
  // The network's inputs that are the same at every step, of each image under a condition. Not saved:
  // they are made again.
  std::map<std::string, std::vector<Values>> constants{};
  GuiderState guider{};  // what the guider keeps between the calls
  // What the network does differently under a condition; of those that have anything.
  std::map<std::string, std::shared_ptr<const SitePlan>> sites{};
  Tensor predicted{};  // the sample without its noise, as the last step predicted it
};

}  // namespace omnirt::blocks

template <>
struct omnirt::ValueCodec<omnirt::blocks::DenoiseState> {
  static constexpr const char* type = "denoise state";
  static SavedValue save(const blocks::DenoiseState& value);
  static blocks::DenoiseState load(const SavedValue& saved, const Catalogue& catalogue);
};

namespace omnirt::blocks {

// An input of the network that stays the same through the run, as a port of the loop: a tensor of
// each condition, {B or 1, ...}; left out where nobody makes it.
struct ConstantInput {
  std::string port;
  std::string input;  // as the network names it
  std::string help;
};

struct DenoiseOptions {
  std::string network = "unet";
  std::vector<ConstantInput> constants{};
  std::string name = "denoise";
  Trigger trigger{};
};

// The loop over a schedule's calls: asks for a prediction a picture and condition, lets the guider
// combine them, and takes the scheduler's step. Optional inputs serve inpainting: extra channels
// joined to the latents, and what is put back where the mask keeps the picture.
class DenoiseLoop final : public LoopBlock {
 public:
  Component<nn::DenoiserNetwork> unet;
  Config<int64_t> max_batch_rows{this, keys::max_batch_rows};
  Config<double> guidance_scale{this, keys::guidance_scale};
  Config<std::string> cache{this, keys::cache};
  Config<int64_t> cache_interval{this, keys::cache_interval};
  Config<int64_t> cache_branch{this, keys::cache_branch};
  Config<int64_t> cache_order{this, keys::cache_order};
  Input<Schedule> schedule{this, "schedule", "the scheduler, planned: from noise to image"};
  Input<Tensor> prompt_embeds{this, "prompt_embeds", "what the prompt means", {"B", "T", "D"}};
  OptionalInput<Tensor> extra_channels{
      this, "extra_channels", "joined to the latents", {"B", "C'", "H/8", "W/8"}};
  OptionalInput<Tensor> keep_mask{
      this, "keep_mask", "0 where the image is put back at each step", {"1", "1", "H/8", "W/8"}};
  OptionalInput<Tensor> image_latents{
      this, "image_latents", "the given image", {"B", "C", "H/8", "W/8"}};
  OptionalInput<Tensor> noise{this, "noise", "the first draw", {"B", "C", "H/8", "W/8"}};
  InOut<Tensor> latents{this, "latents", "from noise to image", {"B", "C", "H/8", "W/8"}};
  InOut<std::shared_ptr<Noise>> noise_source{this, "noise_source", "the generators, one per image"};
  Output<DenoiseState> state{this, "denoise_state", "the loop's state"};

  explicit DenoiseLoop(const DenoiseOptions& options = {});
  void start(Frame& frame) const override;
  bool want(Frame& frame, std::vector<Row>& rows) const override;
  void accept(Frame& frame, const std::vector<Tensor>& predictions) const override;
  Denoiser denoiser(Frame& frame) const override;
  LoopProgress next(Frame& frame) const override;
  LoopProgress progress(Frame& frame) const override;
  const Tensor& sample(Frame& frame) const override;
  Tensor predicted(Frame& frame) const override { return frame[state].predicted; }
  void check(Proposal& proposal) const override;
  void check_loaded(Proposal& proposal, const LoadedPipeline& pipeline) const override;

 private:
  SharedStep step(Frame& frame) const;
  void make_constants(Frame& frame) const;
  std::map<std::string, Tensor> constants(Frame& frame, const Condition& condition,
                                          int64_t picture) const;
  GuidanceStep guidance_step(Frame& frame) const;
  void keep_masked(Frame& frame, size_t index) const;

  struct ConstantPort {
    ConstantPort(Block* block, const ConstantInput& constant)
        : port(block, constant.port, constant.help), input(constant.input) {}
    OptionalInput<Tensor> port;
    std::string input;
  };
  std::deque<ConstantPort> constants_;
};

}  // namespace omnirt::blocks
