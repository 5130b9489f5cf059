#pragma once
#include "blocks/encode_control_image.hpp"
#include "networks/qwen_image_transformer_2d_model/model.hpp"
#include "pipeline/checks.hpp"
#include "pipeline/frame.hpp"
#include "pipeline/loop.hpp"

namespace omnirt::qwen_image {

// Any of the ControlNets is one for inpainting.
Trigger any_control_reads_mask();
// Any of them looks at what each block of the transformer made.
Trigger any_control_feeds_back();

// For the ControlNet for inpainting at `place`: the image's latents without what is repainted, and
// where it is kept. Of a blockwise one they are the mode (reference: DiffSynth-Studio
// QwenImageUnit_BlockwiseControlNet). Else the reference samples the latents by torch's generator
// for all; here that has each image's seed, as after torch.manual_seed (reference:
// QwenImageControlNetInpaintPipeline).
class EncodeMaskedControl final : public Block {
 public:
  Component<nn::ControlNetwork> controlnet;
  Component<nn::Autoencoder> vae{this, "vae"};
  Config<int64_t> width{this, keys::width};
  Config<int64_t> height{this, keys::height};
  blocks::TilingPorts tiling{this};
  Input<io::Image> image{this, slots::image};
  Input<Tensor> mask_pixels{this, slots::mask_pixels};
  Input<Tensor> mask_latents{this, slots::mask_latents};
  Input<std::vector<uint64_t>> seeds{this, slots::seeds};
  Output<Value> control;

  explicit EncodeMaskedControl(size_t place);
  void run(Frame& frame) const override;
  void check(Checks& checks) const override { tiling.check(checks, vae); }
};

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
