#pragma once
#include "nn/blocks/autoencoder_encoder.hpp"

namespace omnirt::nn {

// Resnets, and an upsampler but at the first level (diffusers unet_2d_blocks.py UpDecoderBlock2D).
class UpDecoderBlock2D final : public Module {
 public:
  UpDecoderBlock2D(Module* parent, const std::string& name, const AutoencoderOptions& options,
                   size_t level);
  const char* class_name() const override { return "UpDecoderBlock2D"; }
  Tensor forward(Context& cx, Tensor x) const;

  ModuleList<ResnetBlock2D> resnets;
  ModuleList<Upsample2D> upsamplers;
};

// {B, latent_channels, h, w} -> {B, image_channels, h 2^(levels - 1), ..} (diffusers vae.py
// Decoder).
class AutoencoderDecoder final : public Module {
 public:
  AutoencoderDecoder(Module* parent, const std::string& name, const AutoencoderOptions& options);
  const char* class_name() const override { return "Decoder"; }
  Tensor forward(Context& cx, const Tensor& latents) const;

  Conv2d conv_in;
  ModuleList<UpDecoderBlock2D> up_blocks;
  AutoencoderMidBlock2D mid_block;
  GroupNorm conv_norm_out;
  Conv2d conv_out;
};

}  // namespace omnirt::nn
