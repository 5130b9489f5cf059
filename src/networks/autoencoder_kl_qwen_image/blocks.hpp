#pragma once
#include "networks/autoencoder_kl_qwen_image/config.hpp"
#include "nn/blocks/causal_autoencoder.hpp"

namespace omnirt {

class QwenImageUpBlock final : public nn::Module {
 public:
  QwenImageUpBlock(Module* parent, const std::string& name, int64_t in, int64_t out,
                   int64_t resnets);
  const char* class_name() const override { return "QwenImageUpBlock"; }
  Tensor forward(Context& cx, Tensor x, nn::FrameState* state = nullptr) const;

  nn::ModuleList<nn::CausalResnet> resnets;
  nn::ModuleList<nn::CausalResample> upsamplers;
};

// {B, 3, H, W} -> {B, 2 z_dim, H / scale, W / scale}: means and log-variances. Of a video, a first
// frame makes one latent frame, and each 2^n later ones make one, with n levels that halve time.
class QwenImageEncoder3d final : public nn::Module {
 public:
  QwenImageEncoder3d(Module* parent, const std::string& name,
                     const AutoencoderKLQwenImageConfig& config);
  const char* class_name() const override { return "QwenImageEncoder3d"; }
  Tensor forward(Context& cx, const Tensor& image, nn::FrameState* state = nullptr) const;

  nn::CausalConv3d conv_in;
  nn::ModuleList<nn::CausalPart> down_blocks;
  nn::CausalMidBlock mid_block;
  nn::ChannelRmsNorm norm_out;
  nn::CausalConv3d conv_out;
};

// {B, z_dim, h, w} -> {B, 3, h scale, w scale}; the reverse.
class QwenImageDecoder3d final : public nn::Module {
 public:
  QwenImageDecoder3d(Module* parent, const std::string& name,
                     const AutoencoderKLQwenImageConfig& config);
  const char* class_name() const override { return "QwenImageDecoder3d"; }
  Tensor forward(Context& cx, const Tensor& latents, nn::FrameState* state = nullptr) const;

  nn::CausalConv3d conv_in;
  nn::CausalMidBlock mid_block;
  nn::ModuleList<QwenImageUpBlock> up_blocks;
  nn::ChannelRmsNorm norm_out;
  nn::CausalConv3d conv_out;
};

}  // namespace omnirt
