#pragma once
#include "networks/autoencoder_kl_qwen_image21/config.hpp"
#include "nn/blocks/causal_autoencoder.hpp"

namespace omnirt {

// Resnets and maybe half the rows and columns, with a way around them (diffusers
// QwenImage21ResidualDownBlock).
class QwenImage21ResidualDownBlock final : public nn::Module {
 public:
  // `halved`: there is a downsampler; `over_time`: it halves the count of frames, too.
  QwenImage21ResidualDownBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                               int64_t resnets, bool halved, bool over_time);
  const char* class_name() const override { return "QwenImage21ResidualDownBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::ModuleList<nn::CausalResnet> resnets;
  std::optional<nn::CausalResample> downsampler;

 private:
  int64_t out_;
  bool over_time_;
};

// The same upwards; the last has no way around it (diffusers QwenImage21ResidualUpBlock).
class QwenImage21ResidualUpBlock final : public nn::Module {
 public:
  QwenImage21ResidualUpBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                             int64_t resnets, bool doubled, bool over_time);
  const char* class_name() const override { return "QwenImage21ResidualUpBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  nn::ModuleList<nn::CausalResnet> resnets;
  std::optional<nn::CausalResample> upsampler;

 private:
  int64_t out_;
  bool over_time_;
};

// {B, C, H, W} -> {B, 2 z_dim, H / scale, W / scale}: means and log-variances.
class QwenImage21Encoder3d final : public nn::Module {
 public:
  QwenImage21Encoder3d(Module* parent, const std::string& name,
                       const AutoencoderKLQwenImage21Config& config);
  const char* class_name() const override { return "QwenImage21Encoder3d"; }
  Tensor forward(Context& cx, const Tensor& image) const;

  nn::CausalConv3d conv_in;
  nn::ModuleList<QwenImage21ResidualDownBlock> down_blocks;
  nn::CausalMidBlock mid_block;
  nn::ChannelRmsNorm norm_out;
  nn::CausalConv3d conv_out;
};

// {B, z_dim, h, w} -> {B, C, h scale, w scale}.
class QwenImage21Decoder3d final : public nn::Module {
 public:
  QwenImage21Decoder3d(Module* parent, const std::string& name,
                       const AutoencoderKLQwenImage21Config& config);
  const char* class_name() const override { return "QwenImage21Decoder3d"; }
  Tensor forward(Context& cx, const Tensor& latents) const;

  nn::CausalConv3d conv_in;
  nn::CausalMidBlock mid_block;
  nn::ModuleList<QwenImage21ResidualUpBlock> up_blocks;
  nn::ChannelRmsNorm norm_out;
  nn::CausalConv3d conv_out;
};

}  // namespace omnirt
