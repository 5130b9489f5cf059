#pragma once
#include "networks/clip_text_model/config.hpp"
#include "nn/layers.hpp"

namespace omnirt {

class CLIPTextEmbeddings final : public nn::Module {
 public:
  CLIPTextEmbeddings(Module* parent, const std::string& name, const CLIPTextConfig& config);
  const char* class_name() const override { return "CLIPTextEmbeddings"; }
  // {B, T} int64 -> {B, T, D}: tokens and their positions.
  Tensor forward(Context& cx, const Tensor& input_ids) const;

  nn::Embedding token_embedding;
  nn::Embedding position_embedding;
};

// Causal self-attention.
class CLIPAttention final : public nn::Module {
 public:
  CLIPAttention(Module* parent, const std::string& name, const CLIPTextConfig& config);
  const char* class_name() const override { return "CLIPAttention"; }
  // x and residual {B, T, D}; out_proj(attention) + residual.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual) const;

  nn::Linear k_proj, v_proj, q_proj, out_proj;

 private:
  int64_t heads_;
};

class CLIPMLP final : public nn::Module {
 public:
  CLIPMLP(Module* parent, const std::string& name, const CLIPTextConfig& config);
  const char* class_name() const override { return "CLIPMLP"; }
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual) const;

  nn::Linear fc1, fc2;

 private:
  ops::Activation activation_;
};

class CLIPEncoderLayer final : public nn::Module {
 public:
  CLIPEncoderLayer(Module* parent, const std::string& name, const CLIPTextConfig& config);
  const char* class_name() const override { return "CLIPEncoderLayer"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  CLIPAttention self_attn;
  nn::LayerNorm layer_norm1;
  CLIPMLP mlp;
  nn::LayerNorm layer_norm2;
};

class CLIPEncoder final : public nn::Module {
 public:
  CLIPEncoder(Module* parent, const std::string& name, const CLIPTextConfig& config);
  const char* class_name() const override { return "CLIPEncoder"; }

  nn::ModuleList<CLIPEncoderLayer> layers;
};

}  // namespace omnirt
