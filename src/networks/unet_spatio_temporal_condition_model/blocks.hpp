#pragma once
#include <vector>

#include "networks/unet_spatio_temporal_condition_model/transformer.hpp"
#include "nn/blocks/resample.hpp"

namespace omnirt {

// What the blocks of one level are made of.
struct SpatioTemporalBlockOptions {
  int64_t in = 0;    // channels that come from the level before (down) or below (up)
  int64_t out = 0;   // channels of this level
  int64_t skip = 0;  // up: channels of the last skip connection
  int64_t layers = 1;
  int64_t temb = 0;
  nn::TransformerOptions transformer;
  bool cross_attention = true;
  bool resample = true;
};

// Resnets, each followed by a transformer where the level has them, and a downsampler (diffusers
// unet_3d_blocks.py DownBlockSpatioTemporal, CrossAttnDownBlockSpatioTemporal).
class SpatioTemporalDownBlock final : public nn::Module {
 public:
  SpatioTemporalDownBlock(Module* parent, const std::string& name,
                          const SpatioTemporalBlockOptions& options);
  const char* class_name() const override;
  // Adds each layer's result to `skips`; x {B F, in, H, W}.
  Tensor forward(Context& cx, Tensor x, const VideoCall& call, std::vector<Tensor>& skips) const;

  nn::ModuleList<TransformerSpatioTemporalModel> attentions;
  nn::ModuleList<nn::SpatioTemporalResBlock> resnets;
  nn::ModuleList<nn::Downsample2D> downsamplers;
};

// A transformer between two resnets (diffusers unet_3d_blocks.py UNetMidBlockSpatioTemporal).
class UNetMidBlockSpatioTemporal final : public nn::Module {
 public:
  UNetMidBlockSpatioTemporal(Module* parent, const std::string& name,
                             const SpatioTemporalBlockOptions& options);
  const char* class_name() const override { return "UNetMidBlockSpatioTemporal"; }
  Tensor forward(Context& cx, Tensor x, const VideoCall& call) const;

  nn::ModuleList<TransformerSpatioTemporalModel> attentions;
  nn::ModuleList<nn::SpatioTemporalResBlock> resnets;
};

// Resnets over x joined with a skip connection, each followed by a transformer where the level has
// them, and an upsampler (diffusers unet_3d_blocks.py UpBlockSpatioTemporal,
// CrossAttnUpBlockSpatioTemporal).
class SpatioTemporalUpBlock final : public nn::Module {
 public:
  SpatioTemporalUpBlock(Module* parent, const std::string& name,
                        const SpatioTemporalBlockOptions& options);
  const char* class_name() const override;
  // Takes its skip connections off the end of `skips`, and upsamples to the size of the next one.
  Tensor forward(Context& cx, Tensor x, const VideoCall& call, std::vector<Tensor>& skips) const;

  nn::ModuleList<TransformerSpatioTemporalModel> attentions;
  nn::ModuleList<nn::SpatioTemporalResBlock> resnets;
  nn::ModuleList<nn::Upsample2D> upsamplers;
};

}  // namespace omnirt
