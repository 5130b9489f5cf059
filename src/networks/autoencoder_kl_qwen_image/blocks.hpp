#pragma once
#include "networks/autoencoder_kl_qwen_image/config.hpp"
#include "nn/blocks/one_frame_autoencoder.hpp"

namespace omnirt {

class QwenImageUpBlock final : public nn::Module {
 public:
  QwenImageUpBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                   int64_t resnets);
  const char* class_name() const override { return "QwenImageUpBlock"; }
  Tensor forward(Context& cx, Tensor x) const;

  nn::ModuleList<nn::OneFrameResnet> resnets;
  nn::ModuleList<nn::OneFrameResample> upsamplers;
};

// {B, 3, H, W} -> {B, 2 z_dim, H / scale, W / scale}: means and log-variances.
class QwenImageEncoder3d final : public nn::Module {
 public:
  QwenImageEncoder3d(Module* parent, const std::string& name,
                     const AutoencoderKLQwenImageConfig& config);
  const char* class_name() const override { return "QwenImageEncoder3d"; }
  Tensor forward(Context& cx, const Tensor& image) const;

  nn::CausalConv3d conv_in;
  nn::ModuleList<nn::OneFramePart> down_blocks;
  nn::OneFrameMidBlock mid_block;
  nn::ChannelRmsNorm norm_out;
  nn::CausalConv3d conv_out;
};

// {B, z_dim, h, w} -> {B, 3, h scale, w scale}.
class QwenImageDecoder3d final : public nn::Module {
 public:
  QwenImageDecoder3d(Module* parent, const std::string& name,
                     const AutoencoderKLQwenImageConfig& config);
  const char* class_name() const override { return "QwenImageDecoder3d"; }
  Tensor forward(Context& cx, const Tensor& latents) const;

  nn::CausalConv3d conv_in;
  nn::OneFrameMidBlock mid_block;
  nn::ModuleList<QwenImageUpBlock> up_blocks;
  nn::ChannelRmsNorm norm_out;
  nn::CausalConv3d conv_out;
};

}  // namespace omnirt
