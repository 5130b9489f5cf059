#pragma once
#include <array>
#include <optional>
#include <vector>

#include "nn/blocks/resample.hpp"
#include "nn/blocks/resnet.hpp"
#include "nn/blocks/transformer_2d.hpp"

namespace omnirt::nn {

// What the blocks of one level of a conditional UNet are made of.
struct UNetLevelOptions {
  int64_t in = 0;    // channels that come from the level before (down) or below (up)
  int64_t out = 0;   // channels of this level
  int64_t skip = 0;  // up: channels of the last skip connection
  int64_t layers = 1;
  ResnetOptions resnet;  // in and out are set for each resnet
  TransformerOptions transformer;
  // Transformer blocks after each resnet; empty: transformer.layers of them after each.
  std::vector<int64_t> depths{};
  bool cross_attention = true;  // a transformer after each resnet
  bool resample = true;         // a downsampler or upsampler at the end
  int64_t downsample_padding = 1;
};

// Resnets, each followed by a transformer where the level has them, and a downsampler (diffusers
// unet_2d_blocks.py DownBlock2D and CrossAttnDownBlock2D).
class UNetDownBlock2D final : public Module {
 public:
  UNetDownBlock2D(Module* parent, const std::string& name, const UNetLevelOptions& options);
  const char* class_name() const override;
  // Each makes a skip connection: the resnets with their transformers, then the downsampler.
  size_t layers() const { return resnets.size() + downsamplers.size(); }
  // The layer after which an adapter's feature is added: the last transformer's; in a block without
  // transformers the last layer of all, as in the reference.
  size_t residual_layer() const { return attentions.empty() ? layers() - 1 : resnets.size() - 1; }
  // x {B, in, H, W}; temb {B, temb}, activated; context.text {B, S, D}.
  Tensor layer(Context& cx, size_t i, const Tensor& x, const Tensor& temb,
               const AttentionContext& context) const;

  ModuleList<Transformer2DModel> attentions;
  ModuleList<ResnetBlock2D> resnets;
  ModuleList<Downsample2D> downsamplers;
};

// A resnet, and a transformer between it and another where there is one (diffusers
// unet_2d_blocks.py UNetMidBlock2DCrossAttn, and UNetMidBlock2D as UNet2DConditionModel makes it).
class UNetMidBlock2D final : public Module {
 public:
  UNetMidBlock2D(Module* parent, const std::string& name, const UNetLevelOptions& options);
  const char* class_name() const override;
  Tensor forward(Context& cx, Tensor x, const Tensor& temb, const AttentionContext& context) const;

  ModuleList<Transformer2DModel> attentions;
  ModuleList<ResnetBlock2D> resnets;
};

// Resnets over x joined with a skip connection, each followed by a transformer where the level has
// them, and an upsampler (diffusers unet_2d_blocks.py UpBlock2D and CrossAttnUpBlock2D).
class UNetUpBlock2D final : public Module {
 public:
  UNetUpBlock2D(Module* parent, const std::string& name, const UNetLevelOptions& options);
  const char* class_name() const override;
  // Each takes a skip connection: the resnets with their transformers.
  size_t layers() const { return resnets.size(); }
  // Takes its skip connection off the end of `skips`; the last layer then upsamples to the size of
  // the next one.
  Tensor layer(Context& cx, size_t i, const Tensor& x, const Tensor& temb,
               const AttentionContext& context, std::vector<Tensor>& skips) const;

  ModuleList<Transformer2DModel> attentions;
  ModuleList<ResnetBlock2D> resnets;
  ModuleList<Upsample2D> upsamplers;
};

}  // namespace omnirt::nn
