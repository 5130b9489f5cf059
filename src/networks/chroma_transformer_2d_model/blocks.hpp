#pragma once
#include "networks/chroma_transformer_2d_model/config.hpp"
#include "nn/blocks/flux_blocks.hpp"

namespace omnirt {

// Two layers with SiLU between them (diffusers embeddings.py PixArtAlphaTextProjection with
// "silu").
class ChromaProjection final : public nn::Module {
 public:
  ChromaProjection(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "PixArtAlphaTextProjection"; }
  // x + the layers of `normed`, {B, N, dim} each.
  Tensor forward(Context& cx, const Tensor& normed, const Tensor& x) const;

  nn::Linear linear_1, linear_2;
};

// Makes the modulations of all blocks of a timestep, in place of a layer in each block (diffusers
// ChromaApproximator).
class ChromaApproximator final : public nn::Module {
 public:
  ChromaApproximator(Module* parent, const std::string& name,
                     const ChromaTransformer2DConfig& config);
  const char* class_name() const override { return "ChromaApproximator"; }
  // x {B, N, approximator_num_channels}; {B, N, D}.
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Linear in_proj;
  nn::ModuleList<ChromaProjection> layers;
  nn::ModuleList<nn::RmsNorm> norms;
  nn::Linear out_proj;
};

// What all blocks are given beside their tokens.
struct ChromaContext {
  Tensor modulations;     // {B or 1, N, D}: single blocks', images', texts', the last norm's
  Tensor rotary;          // {2, T + L, head_dim / 2}
  Tensor bias;            // {B, 1, T + L, T + L}; undefined: none
  int64_t height, width;  // tokens
};

// FLUX.1's first blocks without modulations of their own (diffusers ChromaTransformerBlock).
class ChromaTransformerBlock final : public nn::FluxStreams {
 public:
  ChromaTransformerBlock(Module* parent, const std::string& name,
                         const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "ChromaTransformerBlock"; }
  // image, text: where in the modulations its own begin.
  nn::TokenStream forward(Context& cx, const nn::TokenStream& x, const ChromaContext& context,
                          int64_t image, int64_t text) const;

  nn::LayerNorm norm1, norm1_context;
};

// FLUX.1's last blocks likewise (diffusers ChromaSingleTransformerBlock).
class ChromaSingleTransformerBlock final : public nn::FluxParallel {
 public:
  ChromaSingleTransformerBlock(Module* parent, const std::string& name,
                               const FluxTransformer2DConfig& config);
  const char* class_name() const override { return "ChromaSingleTransformerBlock"; }
  // x {B, T + L, D}; as x.
  Tensor forward(Context& cx, const Tensor& x, const ChromaContext& context, int64_t at) const;

  nn::LayerNorm norm;
};

}  // namespace omnirt
