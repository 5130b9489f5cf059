#pragma once
#include "networks/qwen2_5_vl_for_conditional_generation/config.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// Patches of an image, as a linear layer over the convolution's weight (transformers
// Qwen2_5_VisionPatchEmbed).
class Qwen25VisionPatchEmbed final : public nn::Module {
 public:
  Qwen25VisionPatchEmbed(Module* parent, const std::string& name,
                         const Qwen25VLVisionConfig& config);

  // weight {D, channels, frames, patch, patch}, as files have it below "proj".
  Param weight;
};

class Qwen25VisionAttention final : public nn::Module {
 public:
  Qwen25VisionAttention(Module* parent, const std::string& name,
                        const Qwen25VLVisionConfig& config);

  nn::Linear qkv, proj;
};

class Qwen25VisionMLP final : public nn::Module {
 public:
  Qwen25VisionMLP(Module* parent, const std::string& name, const Qwen25VLVisionConfig& config);

  nn::Linear gate_proj, up_proj, down_proj;
};

class Qwen25VisionBlock final : public nn::Module {
 public:
  Qwen25VisionBlock(Module* parent, const std::string& name, const Qwen25VLVisionConfig& config);
  const char* class_name() const override { return "Qwen2_5_VLVisionBlock"; }

  nn::RmsNorm norm1, norm2;
  Qwen25VisionAttention attn;
  Qwen25VisionMLP mlp;
};

// Squares of patches become tokens of the language model (transformers Qwen2_5_VLPatchMerger).
class Qwen25PatchMerger final : public nn::Module {
 public:
  Qwen25PatchMerger(Module* parent, const std::string& name, const Qwen25VLVisionConfig& config);

  nn::RmsNorm ln_q;
  nn::ModuleList<nn::Linear> mlp;
};

// The checkpoint's "visual" (transformers Qwen2_5_VisionTransformerPretrainedModel).
class Qwen25VisionTransformer final : public nn::Module {
 public:
  Qwen25VisionTransformer(Module* parent, const std::string& name,
                          const Qwen25VLVisionConfig& config);

  Qwen25VisionPatchEmbed patch_embed;
  nn::ModuleList<Qwen25VisionBlock> blocks;
  Qwen25PatchMerger merger;
};

}  // namespace omnirt
