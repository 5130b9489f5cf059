#pragma once
#include "blocks/encode_control_image.hpp"
#include "nn/transformer_network.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::blocks {

// Any of the ControlNets reads what each block of the transformer made.
Trigger any_control_feeds_back();

// Runs the transformer block by block where blockwise ControlNets read what each block made, and
// hands the loop the state after the last one (reference: DiffSynth-Studio model_fn_qwen_image).
class BlockByBlock final : public StepBlock {
 public:
  Component<nn::TransformerNetwork> transformer{this, "transformer"};

  BlockByBlock();
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
};

}  // namespace omnirt::blocks
