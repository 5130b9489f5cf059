#pragma once
#include <array>
#include <optional>

#include "networks/flux2_transformer_2d_model/config.hpp"
#include "nn/blocks/joint_attention.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// Timestep and, in models that were distilled of guided ones, guidance scale (diffusers
// transformer_flux2.py Flux2TimestepGuidanceEmbeddings).
class Flux2TimestepGuidanceEmbeddings final : public nn::Module {
 public:
  Flux2TimestepGuidanceEmbeddings(Module* parent, const std::string& name,
                                  const Flux2Transformer2DConfig& config);
  const char* class_name() const override { return "Flux2TimestepGuidanceEmbeddings"; }
  // timestep {B}, 0..1000; guidance {B}, a scale, or null. {B, D}.
  Tensor forward(Context& cx, const Tensor& timestep, const Tensor* guidance) const;

  nn::TimestepEmbedding timestep_embedder;
  std::optional<nn::TimestepEmbedding> guidance_embedder;
};

// Shift, scale and gate for one part of a block, {B, 1, D} each.
struct Flux2ModulationSet {
  Tensor shift, scale, gate;
};

// What all blocks of a kind are modulated by (diffusers Flux2Modulation).
class Flux2Modulation final : public nn::Module {
 public:
  Flux2Modulation(Module* parent, const std::string& name, int64_t dim, int64_t sets);
  const char* class_name() const override { return "Flux2Modulation"; }
  // activated {B, D}: SiLU of the embedded timestep.
  std::vector<Flux2ModulationSet> forward(Context& cx, const Tensor& activated) const {
    return sets_of(linear.forward(cx, activated));
  }
  // Of what the layer makes, {B, 3 sets D}.
  std::vector<Flux2ModulationSet> sets_of(const Tensor& made) const;

  nn::Linear linear;
};

// A gated perceptron, one matrix for the gate and what it gates (diffusers Flux2FeedForward).
class Flux2FeedForward final : public nn::Module {
 public:
  Flux2FeedForward(Module* parent, const std::string& name, const Flux2Transformer2DConfig& config);
  const char* class_name() const override { return "Flux2FeedForward"; }
  SiteKind site_kind() const override { return SiteKind::feed_forward; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Linear linear_in, linear_out;
};

// Attention and perceptron over text and image, which have weights of their own (diffusers
// Flux2TransformerBlock).
class Flux2TransformerBlock final : public nn::Module {
 public:
  Flux2TransformerBlock(Module* parent, const std::string& name,
                        const Flux2Transformer2DConfig& config);
  const char* class_name() const override { return "Flux2TransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // Modulations: of the attention and of the perceptron. kept: of reference images; may be
  // undefined.
  nn::TokenStream forward(Context& cx, const nn::TokenStream& x,
                          const std::vector<Flux2ModulationSet>& image,
                          const std::vector<Flux2ModulationSet>& text, const Tensor& rotary,
                          const nn::KeysAndValues& kept) const;
  // x {B, N, D}: tokens of reference images, which see each other alone, in a block that is not
  // skipped; as x. `made` and `keys_alone` as JointAttention::of_image_alone has them.
  Tensor read_references(Context& cx, const Tensor& x, const std::vector<Flux2ModulationSet>& by,
                         const Tensor& rotary, nn::KeysAndValues& made, bool keys_alone) const;

  nn::LayerNorm norm1, norm1_context;
  nn::JointAttention attn;
  nn::LayerNorm norm2;
  Flux2FeedForward ff;
  nn::LayerNorm norm2_context;
  Flux2FeedForward ff_context;

 private:
  Tensor perceived(Context& cx, const nn::LayerNorm& norm, const Flux2FeedForward& perceptron,
                   const Tensor& h, const Flux2ModulationSet& by) const;
};

// Attention and perceptron side by side, with one matrix into both and one out of both (Dehghani et
// al. 2023, arXiv 2302.05442; diffusers Flux2ParallelSelfAttention).
class Flux2ParallelSelfAttention final : public nn::Module {
 public:
  Flux2ParallelSelfAttention(Module* parent, const std::string& name,
                             const Flux2Transformer2DConfig& config);
  const char* class_name() const override { return "Flux2ParallelSelfAttention"; }
  // x {B, T, D}, rotary {2, T, head_dim / 2}; {B, T, D}. before: of tokens that x attends to as
  // well.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary,
                 const nn::KeysAndValues& before) const;
  // Of reference images' tokens, as Flux2TransformerBlock::read_references.
  Tensor of_references(Context& cx, const Tensor& x, const Tensor& rotary, nn::KeysAndValues& made,
                       bool keys_alone) const;

  nn::Linear to_qkv_mlp_proj;
  nn::RmsNorm norm_q, norm_k;
  nn::Linear to_out;

 private:
  Tensor key_of(Context& cx, const Tensor& all, const Tensor& rotary) const;
  Tensor value_of(const Tensor& all) const { return all.narrow(2, 2 * inner_dim_, inner_dim_); }
  Tensor attended(Context& cx, const Tensor& all, const Tensor& rotary,
                  const nn::KeysAndValues& before) const;
  Tensor both(Context& cx, Tensor all, const Tensor& rotary, const nn::KeysAndValues& before) const;
  Tensor computed(Context& cx, Tensor all, const Tensor& rotary,
                  const nn::KeysAndValues& before) const;

  int64_t heads_, inner_dim_, mlp_dim_;
};

// diffusers Flux2SingleTransformerBlock.
class Flux2SingleTransformerBlock final : public nn::Module {
 public:
  Flux2SingleTransformerBlock(Module* parent, const std::string& name,
                              const Flux2Transformer2DConfig& config);
  const char* class_name() const override { return "Flux2SingleTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // x {B, T + L, D}, text and image; {B, T + L, D}.
  Tensor forward(Context& cx, const Tensor& x, const Flux2ModulationSet& modulation,
                 const Tensor& rotary, const nn::KeysAndValues& kept) const;
  // As Flux2TransformerBlock's.
  Tensor read_references(Context& cx, const Tensor& x, const Flux2ModulationSet& by,
                         const Tensor& rotary, nn::KeysAndValues& made, bool keys_alone) const;

  nn::LayerNorm norm;
  Flux2ParallelSelfAttention attn;
};

// A layer norm whose scale and shift depend on the timestep (diffusers normalization.py
// AdaLayerNormContinuous).
class Flux2NormOut final : public nn::Module {
 public:
  Flux2NormOut(Module* parent, const std::string& name, const Flux2Transformer2DConfig& config);
  const char* class_name() const override { return "AdaLayerNormContinuous"; }
  // x {B, T, D}, activated {B, D}: SiLU of the embedded timestep.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  nn::Linear linear;
  nn::LayerNorm norm;
};

}  // namespace omnirt
