#pragma once
#include <array>
#include <optional>

#include "networks/autoencoder_kl_qwen_image/config.hpp"
#include "nn/layers.hpp"

namespace omnirt {

// A convolution over frames, rows and columns that reads no later frame (diffusers
// QwenImageCausalConv3d), for videos of one frame: of its weight {out, in, frames, k, k} only the
// last frame's part meets anything but zeros, so that it is a convolution of that image.
class CausalConv3d final : public nn::Module {
 public:
  // `time`, `kernel`: frames, and rows and columns, of the weight.
  CausalConv3d(Module* parent, const std::string& name, int64_t in, int64_t out, int64_t time,
               int64_t kernel);
  // x {B, in, H, W}, of one frame; {B, out, H, W}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* residual = nullptr) const;

  Param weight, bias;
};

// x / |x| * sqrt(C) * gamma over channels (diffusers QwenImageRMS_norm).
class ChannelRmsNorm final : public nn::Module {
 public:
  // `axes`: dimensions of size 1 after the channels of gamma, as in files.
  ChannelRmsNorm(Module* parent, const std::string& name, int64_t channels, size_t axes);
  // x {B, C, H, W}; as x.
  Tensor forward(Context& cx, const Tensor& x) const;
  Tensor activated(Context& cx, const Tensor& x) const;  // and SiLU

  Param gamma;
};

// A part of the encoder's list, or of a level of the decoder.
class QwenImageVaePart : public nn::Module {
 public:
  using Module::Module;
  virtual Tensor forward(Context& cx, const Tensor& x) const = 0;
};

class QwenImageResidualBlock final : public QwenImageVaePart {
 public:
  QwenImageResidualBlock(Module* parent, const std::string& name, int64_t in, int64_t out);
  const char* class_name() const override { return "QwenImageResidualBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const override;

  ChannelRmsNorm norm1;
  CausalConv3d conv1;
  ChannelRmsNorm norm2;
  CausalConv3d conv2;
  std::optional<CausalConv3d> conv_shortcut;
};

// Attention over the pixels of the frame, of one head (diffusers QwenImageAttentionBlock).
class QwenImageAttentionBlock final : public nn::Module {
 public:
  QwenImageAttentionBlock(Module* parent, const std::string& name, int64_t channels);
  const char* class_name() const override { return "QwenImageAttentionBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  ChannelRmsNorm norm;
  nn::Conv2d to_qkv, proj;
};

// Twice or half the rows and columns (diffusers QwenImageResample). Where it changes the count of
// frames too, files have time_conv, which no video of one frame meets.
class QwenImageResample final : public QwenImageVaePart {
 public:
  enum class Way { up, down };
  QwenImageResample(Module* parent, const std::string& name, int64_t channels, Way way,
                    bool over_time);
  const char* class_name() const override { return "QwenImageResample"; }
  Tensor forward(Context& cx, const Tensor& x) const override;

  nn::ModuleList<nn::Conv2d> resample;  // 0 is the padding or the nearest-neighbour resize
  std::optional<CausalConv3d> time_conv;

 private:
  Way way_;
};

class QwenImageMidBlock final : public nn::Module {
 public:
  QwenImageMidBlock(Module* parent, const std::string& name, int64_t channels);
  const char* class_name() const override { return "QwenImageMidBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::ModuleList<QwenImageAttentionBlock> attentions;
  nn::ModuleList<QwenImageResidualBlock> resnets;
};

class QwenImageUpBlock final : public nn::Module {
 public:
  QwenImageUpBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                   int64_t resnets);
  const char* class_name() const override { return "QwenImageUpBlock"; }
  Tensor forward(Context& cx, Tensor x) const;

  nn::ModuleList<QwenImageResidualBlock> resnets;
  nn::ModuleList<QwenImageResample> upsamplers;
};

// {B, 3, H, W} -> {B, 2 z_dim, H / scale, W / scale}: means and log-variances.
class QwenImageEncoder3d final : public nn::Module {
 public:
  QwenImageEncoder3d(Module* parent, const std::string& name,
                     const AutoencoderKLQwenImageConfig& config);
  const char* class_name() const override { return "QwenImageEncoder3d"; }
  Tensor forward(Context& cx, const Tensor& image) const;

  CausalConv3d conv_in;
  nn::ModuleList<QwenImageVaePart> down_blocks;
  QwenImageMidBlock mid_block;
  ChannelRmsNorm norm_out;
  CausalConv3d conv_out;
};

// {B, z_dim, h, w} -> {B, 3, h scale, w scale}.
class QwenImageDecoder3d final : public nn::Module {
 public:
  QwenImageDecoder3d(Module* parent, const std::string& name,
                     const AutoencoderKLQwenImageConfig& config);
  const char* class_name() const override { return "QwenImageDecoder3d"; }
  Tensor forward(Context& cx, const Tensor& latents) const;

  CausalConv3d conv_in;
  QwenImageMidBlock mid_block;
  nn::ModuleList<QwenImageUpBlock> up_blocks;
  ChannelRmsNorm norm_out;
  CausalConv3d conv_out;
};

}  // namespace omnirt
