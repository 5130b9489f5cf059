#pragma once
#include "blocks/encode_control_image.hpp"
#include "networks/qwen_image_transformer_2d_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::qwen_image {

// Any of them looks at what each block of the transformer made.
Trigger any_control_feeds_back();

// Takes the transformer through its blocks one by one where blockwise ControlNets look at what each
// made, and gives the loop's call what the last one made (reference: DiffSynth-Studio
// model_fn_qwen_image).
class BlockByBlock final : public StepBlock {
 public:
  Component<QwenImageTransformer2DModel> transformer{this, "transformer"};

  BlockByBlock();
  void before_predict(Frame& frame, const LoopProgress& at, RowBatch& batch) const override;
};

}  // namespace omnirt::qwen_image
