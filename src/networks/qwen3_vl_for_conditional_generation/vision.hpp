#pragma once
#include "networks/qwen3_vl_for_conditional_generation/config.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// An image as the vision tower takes it (blocks::qwen3_vl_vision_input). Patches, N of them, are in
// the order of transformers' processors: squares of spatial_merge_size row by row, and each
// square's patches row by row.
struct Qwen3VLVisionInput {
  Tensor patches;    // {1, N, channels * frames * patch * patch}
  Tensor positions;  // {N, 2} fp32: row and column
  // The four position embeddings that a patch's is between, and how much of each (transformers
  // vision_utils.get_vision_interpolation_indices_and_weights).
  Tensor grid_places;   // {4, 1, N} int64
  Tensor grid_weights;  // {4, 1, N, 1} fp32
};

// Patches of an image, as a linear layer over the convolution's weight (transformers
// Qwen3VLVisionPatchEmbed).
class Qwen3VLVisionPatchEmbed final : public nn::Module {
 public:
  Qwen3VLVisionPatchEmbed(Module* parent, const std::string& name,
                          const Qwen3VLVisionConfig& config);
  // patches {1, N, K}; {1, N, D}.
  Tensor forward(Context& cx, const Tensor& patches) const;

  // weight {D, channels, frames, patch, patch} and bias {D}, as files have them below "proj".
  Param weight, bias;
};

class Qwen3VLVisionAttention final : public nn::Module {
 public:
  Qwen3VLVisionAttention(Module* parent, const std::string& name,
                         const Qwen3VLVisionConfig& config);
  // x and residual {1, N, D}, rotary {2, N, head_dim / 2}; proj(attention of all patches to all) +
  // residual.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary, const Tensor& residual) const;

  nn::Linear qkv, proj;

 private:
  int64_t heads_;
};

class Qwen3VLVisionMLP final : public nn::Module {
 public:
  Qwen3VLVisionMLP(Module* parent, const std::string& name, const Qwen3VLVisionConfig& config);
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual) const;

  nn::Linear linear_fc1, linear_fc2;

 private:
  ops::Activation activation_;
};

class Qwen3VLVisionBlock final : public nn::Module {
 public:
  Qwen3VLVisionBlock(Module* parent, const std::string& name, const Qwen3VLVisionConfig& config);
  const char* class_name() const override { return "Qwen3VLVisionBlock"; }
  // As the attention's.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary) const;

  nn::LayerNorm norm1, norm2;
  Qwen3VLVisionAttention attn;
  Qwen3VLVisionMLP mlp;
};

// Squares of patches become tokens of the language model (transformers Qwen3VLVisionPatchMerger).
class Qwen3VLVisionPatchMerger final : public nn::Module {
 public:
  // `of_squares`: what is normalised is a square's patches together, not each.
  Qwen3VLVisionPatchMerger(Module* parent, const std::string& name,
                           const Qwen3VLVisionConfig& config, bool of_squares);
  // x {1, N, D}; {1, N / square, out}.
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::LayerNorm norm;
  nn::Linear linear_fc1, linear_fc2;

 private:
  bool of_squares_;
};

// The checkpoint's "visual" (transformers Qwen3VLVisionModel).
class Qwen3VLVisionModel final : public nn::Module {
 public:
  Qwen3VLVisionModel(Module* parent, const std::string& name, const Qwen3VLVisionConfig& config);
  // The tokens {1, N / square, out_hidden_size}, row by row, then for each of deepstack's layers
  // what is added of them, as many (Meng et al. 2024, arXiv 2406.04334).
  std::vector<Tensor> forward(Context& cx, const Qwen3VLVisionInput& image) const;

  Qwen3VLVisionPatchEmbed patch_embed;
  nn::Embedding pos_embed;
  nn::ModuleList<Qwen3VLVisionBlock> blocks;
  Qwen3VLVisionPatchMerger merger;
  nn::ModuleList<Qwen3VLVisionPatchMerger> deepstack_merger_list;

 private:
  Tensor embedded(Context& cx, const Qwen3VLVisionInput& image) const;
  Qwen3VLVisionConfig config_;
};

}  // namespace omnirt
