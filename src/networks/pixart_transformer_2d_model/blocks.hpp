#pragma once
#include <array>

#include "networks/pixart_transformer_2d_model/config.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// The checkpoint's "net": 0 is the activated projection, 1 a dropout without parameters, 2 the
// projection back.
class PixArtFeedForwardNet final : public nn::Module {
 public:
  PixArtFeedForwardNet(Module* parent, const std::string& name, int64_t dim);

  struct Projection final : nn::Module {
    Projection(Module* parent, const std::string& name, int64_t dim);
    const char* class_name() const override { return "GELU"; }
    nn::Linear proj;
  };
  Projection in;
  nn::Linear out;
};

class PixArtFeedForward final : public nn::Module {
 public:
  PixArtFeedForward(Module* parent, const std::string& name, int64_t dim,
                    ops::Activation activation);
  const char* class_name() const override { return "FeedForward"; }
  SiteKind site_kind() const override { return SiteKind::feed_forward; }
  Tensor forward(Context& cx, const Tensor& x) const;

  PixArtFeedForwardNet net;

 private:
  ops::Activation activation_;
};

// What all blocks attend to and are modulated by.
struct PixArtContext {
  Tensor text;        // {B, S, D}
  Tensor text_bias;   // {B, 1, 1, S}, added to the scores: keeps padding out; undefined: none
  Tensor modulation;  // {B, 6, D}
  std::array<int64_t, 2> grid{0, 0};  // {height, width} in patches
  Tensor embedded{};                  // {B, D}: the timestep, for the last norm
};

// Attention, attention to the text, perceptron; the first and the last modulated and gated by the
// timestep, the second neither normalised nor gated (diffusers attention.py BasicTransformerBlock
// with norm_type "ada_norm_single").
class PixArtTransformerBlock final : public nn::Module {
 public:
  PixArtTransformerBlock(Module* parent, const std::string& name,
                         const PixArtTransformer2DConfig& config);
  const char* class_name() const override { return "BasicTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // x {B, T, D}; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const PixArtContext& context) const;

  Param scale_shift_table;  // {6, D}: shift, scale and gate of the first and of the last part
  nn::LayerNorm norm1;
  nn::Attention attn1;
  nn::Attention attn2;
  nn::LayerNorm norm2;
  PixArtFeedForward ff;
};

}  // namespace omnirt
