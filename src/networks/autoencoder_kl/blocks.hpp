#pragma once
#include "networks/autoencoder_kl/config.hpp"
#include "nn/blocks/attention.hpp"
#include "nn/blocks/resample.hpp"
#include "nn/blocks/resnet.hpp"

namespace omnirt {

// Resnets, and a downsampler but at the last level (diffusers unet_2d_blocks.py
// DownEncoderBlock2D).
class DownEncoderBlock2D final : public nn::Module {
 public:
  DownEncoderBlock2D(Module* parent, const std::string& name, const AutoencoderKLConfig& config,
                     size_t level);
  const char* class_name() const override { return "DownEncoderBlock2D"; }
  Tensor forward(Context& cx, Tensor x) const;

  nn::ModuleList<nn::ResnetBlock2D> resnets;
  nn::ModuleList<nn::Downsample2D> downsamplers;
};

// Resnets, and an upsampler but at the first level (diffusers unet_2d_blocks.py UpDecoderBlock2D).
class UpDecoderBlock2D final : public nn::Module {
 public:
  UpDecoderBlock2D(Module* parent, const std::string& name, const AutoencoderKLConfig& config,
                   size_t level);
  const char* class_name() const override { return "UpDecoderBlock2D"; }
  Tensor forward(Context& cx, Tensor x) const;

  nn::ModuleList<nn::ResnetBlock2D> resnets;
  nn::ModuleList<nn::Upsample2D> upsamplers;
};

// Attention of one head over the pixels, where the config has it, between two resnets (diffusers
// unet_2d_blocks.py UNetMidBlock2D).
class AutoencoderMidBlock2D final : public nn::Module {
 public:
  AutoencoderMidBlock2D(Module* parent, const std::string& name, const AutoencoderKLConfig& config);
  const char* class_name() const override { return "UNetMidBlock2D"; }
  Tensor forward(Context& cx, Tensor x) const;

  nn::ModuleList<nn::Attention> attentions;
  nn::ModuleList<nn::ResnetBlock2D> resnets;
};

// {B, in_channels, H, W} -> {B, 2 latent_channels, H / 2^(levels - 1), ..} (diffusers vae.py
// Encoder).
class AutoencoderKLEncoder final : public nn::Module {
 public:
  AutoencoderKLEncoder(Module* parent, const std::string& name, const AutoencoderKLConfig& config);
  const char* class_name() const override { return "Encoder"; }
  Tensor forward(Context& cx, const Tensor& image) const;

  nn::Conv2d conv_in;
  nn::ModuleList<DownEncoderBlock2D> down_blocks;
  AutoencoderMidBlock2D mid_block;
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;
};

// {B, latent_channels, h, w} -> {B, out_channels, h 2^(levels - 1), ..} (diffusers vae.py Decoder).
class AutoencoderKLDecoder final : public nn::Module {
 public:
  AutoencoderKLDecoder(Module* parent, const std::string& name, const AutoencoderKLConfig& config);
  const char* class_name() const override { return "Decoder"; }
  Tensor forward(Context& cx, const Tensor& latents) const;

  nn::Conv2d conv_in;
  nn::ModuleList<UpDecoderBlock2D> up_blocks;
  AutoencoderMidBlock2D mid_block;
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;
};

}  // namespace omnirt
