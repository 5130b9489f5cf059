#pragma once
#include <optional>
#include <string>
#include <vector>

#include "blocks/control_keys.hpp"
#include "nn/autoencoder.hpp"
#include "nn/control_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/keys.hpp"
#include "pipeline/loop.hpp"

// ControlNets of transformers over tokens.
namespace omnirt::blocks {

struct TokenControlOptions {
  std::string class_name;  // "FluxControlNetModel"
  // The class of those that feed back (nn::ControlNetwork::feeds_back), for a family with a step
  // block that asks for RowBatch::hints; "": it has none.
  std::string feedback_class{};
  // Whether each condition has residuals of its own text; else those of the prompt serve all, as in
  // the reference's pipelines of FLUX.1 and Qwen-Image.
  bool own_text = false;
  // The config key of a ControlNet with the width of the texts that it reads.
  const char* text_width = "joint_attention_dim";
  bool unions = false;  // whether there are ControlNets of several kinds of control images
};

// One ControlNet, of several where it has a place after the first: adds its residuals to what the
// transformer is given at each step.
class TokenControlNet final : public StepBlock {
 public:
  Component<nn::ControlNetwork> controlnet;
  Component<nn::DenoiserNetwork> transformer{this, "transformer"};
  Described<nn::Autoencoder> vae{this, "vae"};
  Described<nn::ControlNetwork> first{this, "controlnet"};
  Config<Json> scale{this, keys::controlnet_conditioning_scale};
  Config<Json> start{this, keys::control_guidance_start};
  Config<Json> end{this, keys::control_guidance_end};
  Config<Json> preprocess{this, keys::control_preprocess};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  Config<CacheKind> cache{this, keys::cache};
  std::optional<Config<Json>> mode;
  Input<Value> control;

  TokenControlNet(size_t place, TokenControlOptions options);
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
  void check(Checks& checks) const override;

 private:
  struct Rows;
  Rows rows_of(const RowBatch& batch) const;
  Tensor model_tokens(Frame& frame, const LoopProgress& at, const Rows& rows) const;
  Values predicted(Frame& frame, const LoopProgress& at, const Rows& rows) const;
  BlockHint hint(Frame& frame, const LoopProgress& at, const RowBatch& batch,
                 double strength) const;
  void check_fits(Checks& checks) const;
  void check_residuals(Checks& checks) const;
  void check_feedback(Checks& checks) const;
  bool check_kind(Checks& checks) const;
  void check_image(Checks& checks) const;
  void check_mode(Checks& checks) const;
  void check_size(Checks& checks) const;
  void refuse(Checks& checks, const std::string& why, const std::string& way_out) const;

  TokenControlOptions options_;
  size_t place_;
};

}  // namespace omnirt::blocks
