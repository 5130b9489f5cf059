#pragma once
#include <deque>
#include <optional>

#include "blocks/slots.hpp"
#include "nn/denoiser_network.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop_part.hpp"
#include "tensor/generator.hpp"

namespace omnirt::slots {

inline constexpr Slot<Tensor> model_input{
    "model_input", "the latents as the network receives them", {"B", "C", "H/8", "W/8"}};
inline constexpr Slot<Tensor> prediction{
    "prediction", "the network's, guided", {"B", "C", "H/8", "W/8"}};
inline constexpr Slot<Tensor> predicted_original{
    "predicted_original",
    "the latents without noise as the step predicted them; undefined where it predicts none",
    {"B", "C", "H/8", "W/8"}};

}  // namespace omnirt::slots

namespace omnirt::blocks {

// An input of the network that stays the same through the run, as a port of the loop: a tensor of
// each condition, {B or 1, ...}; left out where no one makes it.
struct ConstantInput {
  std::string port;
  std::string input;  // as the network names it
  std::string help;
};

struct DenoiseOptions {
  std::string network = "unet";
  std::vector<ConstantInput> constants{};
  // What a model makes of a guider's result, next to the prediction under the prompt alone; null:
  // nothing.
  Tensor (*after_guidance)(const Tensor& guided, const Tensor& cond) = nullptr;
  std::string name = "denoise";
  Trigger trigger{};
  // The port that says which of prompt_embeds are tokens, for networks that take no padding: each
  // image's texts are cut to theirs. "": all are.
  std::string text_mask{};
  // The loop's blocks; empty: prepare_input, predict, step.
  BlockList parts{};
};

// Scales the latents for the network at this step. Extra channels are joined to them for networks
// that were made for inpainting.
class PrepareInput final : public DenoisePart {
 public:
  Input<Schedule> schedule{this, slots::schedule};
  Input<Tensor> latents{this, slots::latents};
  OptionalInput<Tensor> extra_channels{this, slots::extra_channels};
  Output<Tensor> model_input{this, slots::model_input};

  PrepareInput() : DenoisePart("prepare_input") {}
  void run(Frame& frame, const StepAt& at) const override;
};

// Asks the network for a prediction per image and condition, and lets the guider combine them.
class Predict : public PredictPart {
 public:
  Component<nn::DenoiserNetwork> unet;
  Config<int64_t> max_batch_rows{this, keys::max_batch_rows};
  Config<double> guidance_scale{this, keys::guidance_scale};
  Config<CacheKind> cache{this, keys::cache};
  Config<int64_t> cache_interval{this, keys::cache_interval};
  Config<int64_t> cache_branch{this, keys::cache_branch};
  Config<int64_t> cache_order{this, keys::cache_order};
  Config<double> cache_threshold{this, keys::cache_threshold};
  Config<Json> cache_ratios{this, keys::cache_ratios};
  Config<int64_t> cache_max_skips{this, keys::cache_max_skips};
  Config<double> cache_retention{this, keys::cache_retention};
  Config<int64_t> disable_cache_before_step{this, keys::disable_cache_before_step};
  Config<int64_t> disable_cache_after_step{this, keys::disable_cache_after_step};
  Config<int64_t> max_order{this, keys::max_order};
  Config<FactorsType> taylor_factors_dtype{this, keys::taylor_factors_dtype};
  Config<bool> use_lite_mode{this, keys::use_lite_mode};
  Input<Tensor> prompt_embeds{this, slots::prompt_embeds};
  Input<Tensor> model_input{this, slots::model_input};
  Output<Tensor> prediction{this, slots::prediction};

  explicit Predict(const DenoiseOptions& options = {});
  void begin(Frame& frame, Walk& walk) const override;
  void ask(Frame& frame, Walk& walk, std::vector<Row>& rows) const override;
  void take(Frame& frame, Walk& walk, const std::vector<Tensor>& predictions) const override;
  Denoiser denoiser(Frame& frame) const override;
  void check(Checks& checks) const override;
  void check_loaded(Checks& checks) const override;

 private:
  void check_restored(Checks& checks) const;
  void check_cache(Checks& checks) const;
  void check_ratios(Checks& checks) const;
  Tensor text_of(Frame& frame, const Condition& condition, int64_t image) const;
  SharedStep step(Frame& frame, const Walk& walk) const;
  void plan_prediction(Frame& frame, SharedStep& plan) const;
  void make_constants(Frame& frame, Walk& walk) const;
  std::map<std::string, Tensor> constants(Frame& frame, const Condition& condition,
                                          int64_t image) const;

  struct ConstantPort {
    ConstantPort(Block* block, const ConstantInput& constant)
        : port(block, constant.port, constant.help), input(constant.input) {}
    OptionalInput<Tensor> port;
    std::string input;
  };
  std::deque<ConstantPort> constants_;
  Tensor (*after_guidance_)(const Tensor& guided, const Tensor& cond);
  std::optional<OptionalInput<Tensor>> text_mask_;
};

// The scheduler's step.
class TakeStep final : public DenoisePart {
 public:
  Input<Schedule> schedule{this, slots::schedule};
  Input<Tensor> prediction{this, slots::prediction};
  InOut<Tensor> latents{this, slots::latents};
  InOut<std::shared_ptr<Noise>> noise_source{this, slots::noise_source};
  Output<Tensor> predicted_original{this, slots::predicted_original};

  TakeStep() : DenoisePart("step") {}
  void run(Frame& frame, const StepAt& at) const override;
};

}  // namespace omnirt::blocks
