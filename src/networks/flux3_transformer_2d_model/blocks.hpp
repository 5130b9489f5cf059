#pragma once
#include "networks/flux3_transformer_2d_model/config.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// Shift, scale and gate of one stream of tokens, {B or 1, 1, D} each.
struct Flux3ModulationSet {
  Tensor shift, scale, gate;
};

// What the blocks of a kind are modulated by (diffusers Flux3Modulation).
class Flux3Modulation final : public nn::Module {
 public:
  Flux3Modulation(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "Flux3Modulation"; }
  // activated {B or 1, D}: SiLU of an embedded timestep.
  Flux3ModulationSet forward(Context& cx, const Tensor& activated) const;

  nn::Linear linear;
};

// One for each kind of tokens.
class Flux3Modulations final : public nn::Module {
 public:
  Flux3Modulations(Module* parent, const std::string& name, int64_t dim);

  Flux3Modulation image, image_cond, txt;
};

// Embeds the image's tokens and the reference images'.
class Flux3Embedders final : public nn::Module {
 public:
  Flux3Embedders(Module* parent, const std::string& name, const Flux3Transformer2DConfig& config);

  nn::Linear image, image_cond;
};

// A gated perceptron, one matrix for the gate and what it gates (diffusers Flux3FeedForward).
class Flux3FeedForward final : public nn::Module {
 public:
  Flux3FeedForward(Module* parent, const std::string& name, const Flux3Transformer2DConfig& config);
  const char* class_name() const override { return "Flux3FeedForward"; }
  // x and residual {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual) const;

  nn::Linear linear_in, linear_out;
};

// diffusers Flux3Attention.
class Flux3Attention final : public nn::Module {
 public:
  Flux3Attention(Module* parent, const std::string& name, const Flux3Transformer2DConfig& config);
  const char* class_name() const override { return "Flux3Attention"; }
  // x {B, T, D}, rotary {2, T, head_dim / 2}; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& rotary) const;

  nn::Linear to_q, to_k, to_v;
  nn::RmsNorm norm_q, norm_k;
  nn::ModuleList<nn::Linear> to_out;

 private:
  int64_t heads_;
};

// Whether a stream of tokens is another at each step; else it is made once per run, and guiders do
// not reach its blocks.
enum class Flux3Stream { changes, stays };

// Attention and perceptron side by side over tokens of one kind (diffusers
// Flux3ModeTransformerBlock).
class Flux3ModeTransformerBlock final : public nn::Module {
 public:
  Flux3ModeTransformerBlock(Module* parent, const std::string& name,
                            const Flux3Transformer2DConfig& config, Flux3Stream stream);
  const char* class_name() const override { return "Flux3ModeTransformerBlock"; }
  SiteKind site_kind() const override {
    return stream_ == Flux3Stream::changes ? SiteKind::block : SiteKind::none;
  }
  // x {B, T, D}, rotary {2, T, head_dim / 2}; {B, T, D}.
  Tensor forward(Context& cx, const Tensor& x, const Flux3ModulationSet& by,
                 const Tensor& rotary) const;

  nn::LayerNorm norm;
  Flux3Attention attn;
  Flux3FeedForward ff;

 private:
  Flux3Stream stream_;
};

class Flux3ModeBlocks final : public nn::Module {
 public:
  Flux3ModeBlocks(Module* parent, const std::string& name);

  nn::ModuleList<Flux3ModeTransformerBlock> image, image_cond;
};

// Tokens of one kind in the blocks over all, and what modulates them.
struct Flux3Part {
  Tensor tokens;  // {B, T, D}
  Flux3ModulationSet by;
};

// The same over tokens of all kinds, each modulated by its own (diffusers
// Flux3SingleTransformerBlock).
class Flux3SingleTransformerBlock final : public nn::Module {
 public:
  Flux3SingleTransformerBlock(Module* parent, const std::string& name,
                              const Flux3Transformer2DConfig& config);
  const char* class_name() const override { return "Flux3SingleTransformerBlock"; }
  SiteKind site_kind() const override { return SiteKind::block; }
  // Replaces each part's tokens; rotary {2, all tokens, head_dim / 2}.
  void forward(Context& cx, std::vector<Flux3Part>& parts, const Tensor& rotary) const;

  nn::LayerNorm norm;
  Flux3Attention attn;
  Flux3FeedForward ff;
};

// A layer norm whose scale and shift depend on the timestep (diffusers Flux3AdaLayerNorm).
class Flux3AdaLayerNorm final : public nn::Module {
 public:
  Flux3AdaLayerNorm(Module* parent, const std::string& name,
                    const Flux3Transformer2DConfig& config);
  const char* class_name() const override { return "Flux3AdaLayerNorm"; }
  // x {B, T, D}, activated {B, D}: SiLU of the embedded timestep.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& activated) const;

  nn::Linear linear;
  nn::LayerNorm norm;
};

}  // namespace omnirt
