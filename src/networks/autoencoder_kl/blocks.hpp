#pragma once
#include "networks/autoencoder_kl/config.hpp"
#include "nn/blocks/autoencoder_encoder.hpp"

namespace omnirt {

nn::AutoencoderOptions autoencoder_options(const AutoencoderKLConfig& config);

// Resnets, and an upsampler but at the first level (diffusers unet_2d_blocks.py UpDecoderBlock2D).
class UpDecoderBlock2D final : public nn::Module {
 public:
  UpDecoderBlock2D(Module* parent, const std::string& name, const nn::AutoencoderOptions& options,
                   size_t level);
  const char* class_name() const override { return "UpDecoderBlock2D"; }
  Tensor forward(Context& cx, Tensor x) const;

  nn::ModuleList<nn::ResnetBlock2D> resnets;
  nn::ModuleList<nn::Upsample2D> upsamplers;
};

// {B, latent_channels, h, w} -> {B, out_channels, h 2^(levels - 1), ..} (diffusers vae.py Decoder).
class AutoencoderKLDecoder final : public nn::Module {
 public:
  AutoencoderKLDecoder(Module* parent, const std::string& name, const AutoencoderKLConfig& config);
  const char* class_name() const override { return "Decoder"; }
  Tensor forward(Context& cx, const Tensor& latents) const;

  nn::Conv2d conv_in;
  nn::ModuleList<UpDecoderBlock2D> up_blocks;
  nn::AutoencoderMidBlock2D mid_block;
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;
};

}  // namespace omnirt
