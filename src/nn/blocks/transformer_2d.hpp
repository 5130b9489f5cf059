#pragma once
#include "nn/blocks/transformer.hpp"

namespace omnirt::nn {

// A linear layer over pixels as tokens. Checkpoints hold its weight as {out, in}, or as the 1x1
// convolution that it is too, {out, in, 1, 1}. bias {out}.
class PixelLinear final : public Module {
 public:
  PixelLinear(Module* parent, const std::string& name, int64_t in, int64_t out, bool convolution);
  // x {B, T, in}; x weight^T + bias + residual, {B, T, out}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* residual = nullptr) const;

  Param weight, bias;
};

// Transformer blocks over the pixels of an image, between two projections, added to the image
// (diffusers transformer_2d.py Transformer2DModel, continuous input).
class Transformer2DModel final : public Module {
 public:
  Transformer2DModel(Module* parent, const std::string& name, int64_t channels,
                     const TransformerOptions& options);
  const char* class_name() const override { return "Transformer2DModel"; }
  // x {B, channels, H, W}, context.text {B, S, context_dim}; {B, channels, H, W}, channels-last.
  Tensor forward(Context& cx, const Tensor& x, const AttentionContext& context) const;

  GroupNorm norm;
  PixelLinear proj_in;
  ModuleList<BasicTransformerBlock> transformer_blocks;
  PixelLinear proj_out;
};

}  // namespace omnirt::nn
