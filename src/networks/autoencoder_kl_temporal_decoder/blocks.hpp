#pragma once
#include "networks/autoencoder_kl_temporal_decoder/config.hpp"
#include "nn/blocks/autoencoder_encoder.hpp"
#include "nn/blocks/spatio_temporal.hpp"

namespace omnirt {

nn::AutoencoderOptions autoencoder_options(const AutoencoderKLTemporalDecoderConfig& config);

// Attention over the pixels of each frame between two resnets (diffusers unet_3d_blocks.py
// MidBlockTemporalDecoder). The checkpoint has `layers` resnets, of which the reference runs the
// first two, and the attention only where there is a second.
class MidBlockTemporalDecoder final : public nn::Module {
 public:
  MidBlockTemporalDecoder(Module* parent, const std::string& name, int64_t channels,
                          int64_t layers);
  const char* class_name() const override { return "MidBlockTemporalDecoder"; }
  Tensor forward(Context& cx, const Tensor& x, int64_t frames) const;

  nn::ModuleList<nn::Attention> attentions;
  nn::ModuleList<nn::SpatioTemporalResBlock> resnets;
};

// Resnets, and an upsampler but at the image's resolution (diffusers unet_3d_blocks.py
// UpBlockTemporalDecoder).
class UpBlockTemporalDecoder final : public nn::Module {
 public:
  UpBlockTemporalDecoder(Module* parent, const std::string& name, int64_t in, int64_t out,
                         int64_t layers, bool upsamples);
  const char* class_name() const override { return "UpBlockTemporalDecoder"; }
  Tensor forward(Context& cx, Tensor x, int64_t frames) const;

  nn::ModuleList<nn::SpatioTemporalResBlock> resnets;
  nn::ModuleList<nn::Upsample2D> upsamplers;
};

// {F, latent_channels, h, w}, the frames of one video -> {F, out_channels, h 2^(levels - 1), ..}
// (diffusers autoencoder_kl_temporal_decoder.py TemporalDecoder).
class TemporalDecoder final : public nn::Module {
 public:
  TemporalDecoder(Module* parent, const std::string& name,
                  const AutoencoderKLTemporalDecoderConfig& config);
  const char* class_name() const override { return "TemporalDecoder"; }
  Tensor forward(Context& cx, const Tensor& latents) const;

  nn::Conv2d conv_in;
  MidBlockTemporalDecoder mid_block;
  nn::ModuleList<UpBlockTemporalDecoder> up_blocks;
  nn::GroupNorm conv_norm_out;
  nn::Conv2d conv_out;
  nn::TemporalConv time_conv_out;
};

}  // namespace omnirt
