#pragma once
#include "networks/qwen2_5_vl_for_conditional_generation/config.hpp"
#include "networks/qwen2_5_vl_for_conditional_generation/windows.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// Patches of an image, as a linear layer over the convolution's weight (transformers
// Qwen2_5_VisionPatchEmbed).
class Qwen25VisionPatchEmbed final : public nn::Module {
 public:
  Qwen25VisionPatchEmbed(Module* parent, const std::string& name,
                         const Qwen25VLVisionConfig& config);
  // patches {1, N, K}; {1, N, D}.
  Tensor forward(Context& cx, const Tensor& patches) const;

  // weight {D, channels, frames, patch, patch}, as files have it below "proj".
  Param weight;
};

class Qwen25VisionAttention final : public nn::Module {
 public:
  Qwen25VisionAttention(Module* parent, const std::string& name,
                        const Qwen25VLVisionConfig& config);
  // x and residual {1, N, D}; proj(attention) + residual. Of patches to those of their window, or,
  // where `windows` is null, to all. rotary {2, N, head_dim / 2}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary, const VisionWindows* windows,
                 const Tensor& residual) const;

  nn::Linear qkv, proj;

 private:
  int64_t heads_;
};

class Qwen25VisionMLP final : public nn::Module {
 public:
  Qwen25VisionMLP(Module* parent, const std::string& name, const Qwen25VLVisionConfig& config);
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual) const;

  nn::Linear gate_proj, up_proj, down_proj;
};

class Qwen25VisionBlock final : public nn::Module {
 public:
  Qwen25VisionBlock(Module* parent, const std::string& name, const Qwen25VLVisionConfig& config);
  const char* class_name() const override { return "Qwen2_5_VLVisionBlock"; }
  // As the attention's.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary,
                 const VisionWindows* windows) const;

  nn::RmsNorm norm1, norm2;
  Qwen25VisionAttention attn;
  Qwen25VisionMLP mlp;
};

// Squares of patches become tokens of the language model (transformers Qwen2_5_VLPatchMerger).
class Qwen25PatchMerger final : public nn::Module {
 public:
  Qwen25PatchMerger(Module* parent, const std::string& name, const Qwen25VLVisionConfig& config);
  // x {1, N, D}; {1, N / square, out}.
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::RmsNorm ln_q;
  nn::ModuleList<nn::Linear> mlp;
};

// The checkpoint's "visual" (transformers Qwen2_5_VisionTransformerPretrainedModel).
class Qwen25VisionTransformer final : public nn::Module {
 public:
  Qwen25VisionTransformer(Module* parent, const std::string& name,
                          const Qwen25VLVisionConfig& config);
  // patches and positions as Qwen25VLForConditionalGeneration::image_tokens takes them; {1, tokens,
  // out_hidden_size}, row by row.
  Tensor forward(Context& cx, const Tensor& patches, const Tensor& positions,
                 const VisionWindows& windows) const;

  Qwen25VisionPatchEmbed patch_embed;
  nn::ModuleList<Qwen25VisionBlock> blocks;
  Qwen25PatchMerger merger;

 private:
  Qwen25VLVisionConfig config_;
};

}  // namespace omnirt
