#pragma once
#include "networks/qwen_image_blockwise_controlnet/config.hpp"
#include "nn/control_network.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// What is added to the tokens that a block of the transformer made (DiffSynth-Studio
// qwen_image_controlnet.py BlockWiseControlBlock).
class BlockwiseControlBlock final : public nn::Module {
 public:
  BlockwiseControlBlock(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "BlockWiseControlBlock"; }
  // tokens {B, L, D}, control {B or 1, L, D}; {B, L, D}.
  Tensor forward(Context& cx, const Tensor& tokens, const Tensor& control) const;

  nn::RmsNorm x_rms, y_rms;
  nn::Linear input_proj, output_proj;
};

// A ControlNet that looks at the image's tokens after each block of Qwen-Image's transformer, and
// adds to them before the next one (DiffSynth-Studio qwen_image_controlnet.py
// QwenImageBlockWiseControlNet).
class QwenImageBlockwiseControlNet final : public nn::ControlNetwork {
 public:
  QwenImageBlockwiseControlNet(const QwenImageBlockwiseControlNetConfig& config, Json json);
  const char* class_name() const override { return "QwenImageBlockWiseControlNet"; }
  nn::Metadata metadata() const override;

  Tensor hint(Context& cx, const Values& inputs, size_t block) const override;
  std::vector<nn::NetworkInput> inputs() const override;
  std::vector<Residuals> residuals() const override;

  bool feeds_back() const override { return true; }
  int64_t in_channels() const override;
  int64_t token_dim() const override { return config_.dim; }
  int64_t context_dim() const override { return 0; }
  bool reads_mask() const override { return config_.additional_in_dim != 0; }

  nn::Linear img_in;
  nn::ModuleList<BlockwiseControlBlock> controlnet_blocks;

 private:
  QwenImageBlockwiseControlNetConfig config_;
};

const nn::NetworkInfo& qwen_image_blockwise_controlnet_info();

}  // namespace omnirt
