#pragma once
#include <vector>

#include "nn/blocks/attention.hpp"
#include "nn/blocks/resample.hpp"
#include "nn/blocks/resnet.hpp"

namespace omnirt::nn {

// What the convolutional halves of an autoencoder are made of.
struct AutoencoderOptions {
  int64_t image_channels = 3;
  int64_t latent_channels = 4;
  std::vector<int64_t> block_out_channels;  // from the image's resolution down
  int64_t layers_per_block = 1;
  int64_t norm_groups = 32;
  ops::Activation activation = ops::Activation::silu;
  bool mid_attention = true;
};

inline constexpr double autoencoder_norm_eps = 1e-6;

// A resnet of an autoencoder, which takes no time embedding.
ResnetOptions autoencoder_resnet(const AutoencoderOptions& options, int64_t in, int64_t out);
// Attention of one head over the pixels of a map of this many channels.
AttentionOptions autoencoder_attention(int64_t channels, int64_t norm_groups);

// Resnets, and a downsampler but at the last level (diffusers unet_2d_blocks.py
// DownEncoderBlock2D).
class DownEncoderBlock2D final : public Module {
 public:
  DownEncoderBlock2D(Module* parent, const std::string& name, const AutoencoderOptions& options,
                     size_t level);
  const char* class_name() const override { return "DownEncoderBlock2D"; }
  Tensor forward(Context& cx, Tensor x) const;

  ModuleList<ResnetBlock2D> resnets;
  ModuleList<Downsample2D> downsamplers;
};

// Attention over the pixels, where there is one, between two resnets (diffusers unet_2d_blocks.py
// UNetMidBlock2D).
class AutoencoderMidBlock2D final : public Module {
 public:
  AutoencoderMidBlock2D(Module* parent, const std::string& name, const AutoencoderOptions& options);
  const char* class_name() const override { return "UNetMidBlock2D"; }
  Tensor forward(Context& cx, Tensor x) const;

  ModuleList<Attention> attentions;
  ModuleList<ResnetBlock2D> resnets;
};

// {B, image_channels, H, W} -> {B, 2 latent_channels, H / 2^(levels - 1), ..}: means and log
// variances (diffusers vae.py Encoder).
class AutoencoderEncoder final : public Module {
 public:
  AutoencoderEncoder(Module* parent, const std::string& name, const AutoencoderOptions& options);
  const char* class_name() const override { return "Encoder"; }
  Tensor forward(Context& cx, const Tensor& image) const;

  Conv2d conv_in;
  ModuleList<DownEncoderBlock2D> down_blocks;
  AutoencoderMidBlock2D mid_block;
  GroupNorm conv_norm_out;
  Conv2d conv_out;
};

}  // namespace omnirt::nn
