#pragma once
#include "nn/layers.hpp"

namespace omnirt::nn {

// What CLIP's two towers, of text and of images, have in common (Radford et al. 2021, arXiv
// 2103.00020; transformers modeling_clip.py).
struct CLIPEncoderOptions {
  int64_t hidden_size = 512;
  int64_t intermediate_size = 2048;
  int64_t layers = 12;
  int64_t heads = 8;
  ops::Activation activation = ops::Activation::quick_gelu;
  double layer_norm_eps = 1e-5;
  bool causal = false;  // tokens attend to those before them only, as the text tower's do
};

class CLIPAttention final : public Module {
 public:
  CLIPAttention(Module* parent, const std::string& name, const CLIPEncoderOptions& options);
  const char* class_name() const override { return "CLIPAttention"; }
  // x and residual {B, T, D}; out_proj(attention) + residual. `bias` as in ops::Attention.
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual,
                 const Tensor* bias = nullptr) const;

  Linear k_proj, v_proj, q_proj, out_proj;

 private:
  int64_t heads_;
  bool causal_;
};

class CLIPMLP final : public Module {
 public:
  CLIPMLP(Module* parent, const std::string& name, const CLIPEncoderOptions& options);
  const char* class_name() const override { return "CLIPMLP"; }
  Tensor forward(Context& cx, const Tensor& x, const Tensor& residual) const;

  Linear fc1, fc2;

 private:
  ops::Activation activation_;
};

class CLIPEncoderLayer final : public Module {
 public:
  CLIPEncoderLayer(Module* parent, const std::string& name, const CLIPEncoderOptions& options);
  const char* class_name() const override { return "CLIPEncoderLayer"; }
  // x {B, T, D}. `bias` as in ops::Attention.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* bias = nullptr) const;

  CLIPAttention self_attn;
  LayerNorm layer_norm1;
  CLIPMLP mlp;
  LayerNorm layer_norm2;
};

class CLIPEncoder final : public Module {
 public:
  CLIPEncoder(Module* parent, const std::string& name, const CLIPEncoderOptions& options);
  const char* class_name() const override { return "CLIPEncoder"; }

  ModuleList<CLIPEncoderLayer> layers;
};

// Of a tower whose config.json has the names of transformers' CLIP.
template <class Config>
CLIPEncoderOptions clip_encoder_options(const Config& config, bool causal) {
  return {.hidden_size = config.hidden_size,
          .intermediate_size = config.intermediate_size,
          .layers = config.num_hidden_layers,
          .heads = config.num_attention_heads,
          .activation = ops::activation_from_name(config.hidden_act, "hidden_act"),
          .layer_norm_eps = config.layer_norm_eps,
          .causal = causal};
}

}  // namespace omnirt::nn
