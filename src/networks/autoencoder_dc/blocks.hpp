#pragma once
#include "networks/autoencoder_dc/config.hpp"
#include "networks/autoencoder_dc/resample.hpp"
#include "nn/blocks/glu_mb_conv.hpp"

namespace omnirt {

// A layer of a level: {B, C, H, W} -> {B, C, H, W}, channels-last.
class DCLayer : public nn::Module {
 public:
  using nn::Module::Module;
  virtual Tensor forward(Context& cx, const Tensor& x) const = 0;
};

// diffusers autoencoder_dc.py ResBlock.
class DCResBlock final : public DCLayer {
 public:
  DCResBlock(Module* parent, const std::string& name, int64_t channels,
             const std::string& activation);
  const char* class_name() const override { return "ResBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const override;

  nn::Conv2d conv1, conv2;
  nn::BiasedRmsNorm norm;

 private:
  ops::Activation activation_;
};

// Further queries, keys and values, of what is near (diffusers attention_processor.py
// SanaMultiscaleAttentionProjection).
class DCScale final : public nn::Module {
 public:
  DCScale(Module* parent, const std::string& name, int64_t channels, int64_t heads, int64_t kernel);
  const char* class_name() const override { return "SanaMultiscaleAttentionProjection"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::GroupedConv2d proj_in, proj_out;
};

// Linear attention over pixels at several scales (Cai et al. 2022, arXiv 2205.14756; diffusers
// attention_processor.py SanaMultiscaleLinearAttention), plus its input.
class DCAttention final : public nn::Module {
 public:
  DCAttention(Module* parent, const std::string& name, const DCLevel& level, int64_t head_dim);
  const char* class_name() const override { return "SanaMultiscaleLinearAttention"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::Linear to_q, to_k, to_v;
  nn::ModuleList<DCScale> to_qkv_multiscale;
  nn::Linear to_out;
  nn::BiasedRmsNorm norm_out;

 private:
  int64_t head_dim_;
};

// diffusers autoencoder_dc.py EfficientViTBlock.
class DCAttentionBlock final : public DCLayer {
 public:
  DCAttentionBlock(Module* parent, const std::string& name, const DCLevel& level, int64_t head_dim);
  const char* class_name() const override { return "EfficientViTBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const override;

  DCAttention attn;
  nn::GluMbConv conv_out;
};

}  // namespace omnirt
