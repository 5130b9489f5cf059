#pragma once
#include "networks/krea2_transformer_2d_model/config.hpp"
#include "nn/blocks/rotary_attention.hpp"

namespace omnirt {

// Attention of all tokens to all, with heads of keys that several heads of queries share, norms of
// queries and keys, and a gate on what comes out (diffusers Krea2Attention).
class Krea2Attention final : public nn::RotaryAttention {
 public:
  Krea2Attention(Module* parent, const std::string& name,
                 const nn::RotaryAttentionOptions& options);
  const char* class_name() const override { return "Krea2Attention"; }
  // x {B, T, dim}; rotary {2, T, head_dim / 2}, or null: tokens have no positions; residual as x,
  // or null.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* rotary,
                 const Tensor* residual = nullptr) const;

  nn::Linear to_gate;
};

// down(silu(gate(x)) * up(x)) (Shazeer 2020, arXiv 2002.05202; diffusers Krea2SwiGLU).
class Krea2SwiGLU final : public nn::Module {
 public:
  Krea2SwiGLU(Module* parent, const std::string& name, int64_t dim, int64_t hidden);
  const char* class_name() const override { return "Krea2SwiGLU"; }
  // x and residual {B, T, dim}; residual may be null.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* residual = nullptr) const;

  nn::Linear gate, up, down;
};

// Attention and perceptron over a text, whose tokens have no positions and which no step changes
// (diffusers Krea2TextFusionBlock).
class Krea2TextFusionBlock final : public nn::Module {
 public:
  Krea2TextFusionBlock(Module* parent, const std::string& name,
                       const Krea2Transformer2DConfig& config);
  const char* class_name() const override { return "Krea2TextFusionBlock"; }
  // x {B, T, D}; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::RmsNorm norm1, norm2;
  Krea2Attention attn;
  Krea2SwiGLU ff;
};

// The states of several layers of a text encoder become one per token: blocks that look at a
// token's layers, a sum of these, blocks that look at the text (diffusers Krea2TextFusion).
class Krea2TextFusion final : public nn::Module {
 public:
  Krea2TextFusion(Module* parent, const std::string& name, const Krea2Transformer2DConfig& config);
  const char* class_name() const override { return "Krea2TextFusion"; }
  // text {B, T, layers * D}, a token's layers one after the other; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& text) const;

  nn::ModuleList<Krea2TextFusionBlock> layerwise_blocks;
  nn::Linear projector;
  nn::ModuleList<Krea2TextFusionBlock> refiner_blocks;

 private:
  int64_t layers_, dim_;
};

// diffusers Krea2TextProjection.
class Krea2TextProjection final : public nn::Module {
 public:
  Krea2TextProjection(Module* parent, const std::string& name, int64_t text_dim, int64_t dim,
                      double eps);
  const char* class_name() const override { return "Krea2TextProjection"; }
  Tensor forward(Context& cx, const Tensor& text) const;

  nn::RmsNorm norm;
  nn::Linear linear_1, linear_2;
};

// diffusers Krea2TimestepEmbedding.
class Krea2TimestepEmbedding final : public nn::Module {
 public:
  Krea2TimestepEmbedding(Module* parent, const std::string& name, int64_t waves, int64_t dim);
  const char* class_name() const override { return "Krea2TimestepEmbedding"; }
  // timestep {B} fp32, 0..1000; {B, dim}.
  Tensor forward(Context& cx, const Tensor& timestep) const;

  nn::Linear linear_1, linear_2;

 private:
  int64_t waves_;
};

// Attention and perceptron over text and image as one sequence. All blocks share one modulation,
// to which each adds a table of its own (diffusers Krea2TransformerBlock).
class Krea2TransformerBlock final : public nn::Module {
 public:
  Krea2TransformerBlock(Module* parent, const std::string& name,
                        const Krea2Transformer2DConfig& config);
  const char* class_name() const override { return "Krea2TransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // x {B, T, D}, modulation {B or 1, 6, D}, rotary {2, T, head_dim / 2}; as x.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& modulation,
                 const Tensor& rotary) const;

  Param scale_shift_table;
  nn::RmsNorm norm1, norm2;
  Krea2Attention attn;
  Krea2SwiGLU ff;
};

// A norm modulated by the timestep, and what the tokens predict (diffusers Krea2FinalLayer).
class Krea2FinalLayer final : public nn::Module {
 public:
  Krea2FinalLayer(Module* parent, const std::string& name, int64_t dim, int64_t out, double eps);
  const char* class_name() const override { return "Krea2FinalLayer"; }
  // x {B, L, D}, embedded {B or 1, D}; {B, L, out}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& embedded) const;

  Param scale_shift_table;
  nn::RmsNorm norm;
  nn::Linear linear;
};

}  // namespace omnirt
