#pragma once
#include <array>
#include <optional>
#include <vector>

#include "nn/layers.hpp"

// What the autoencoders have in common that were made for videos (Wan's, Wan Team 2025, arXiv
// 2503.20314) and are used for images: videos of one frame.
namespace omnirt::nn {

// Whether the filters in a model's files reach over frames, or are those of one image.
enum class FilterFrames { all, none };

// A convolution over frames, rows and columns that reads no later frame (diffusers
// QwenImageCausalConv3d), for videos of one frame: of its weight {out, in, frames, k, k} only the
// last frame's part meets anything but zeros, so that it is a convolution of that image.
class CausalConv3d final : public Module {
 public:
  // `time`, `kernel`: frames, and rows and columns, of the weight; no frames: {out, in, k, k}.
  CausalConv3d(Module* parent, const std::string& name, int64_t in, int64_t out, int64_t time,
               int64_t kernel);
  // x {B, in, H, W}, of one frame; {B, out, H, W}.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* residual = nullptr) const;

  Param weight, bias;
};

// x / |x| * sqrt(C) * gamma over channels (diffusers QwenImageRMS_norm).
class ChannelRmsNorm final : public Module {
 public:
  // `axes`: dimensions of size 1 after the channels of gamma, as in files.
  ChannelRmsNorm(Module* parent, const std::string& name, int64_t channels, size_t axes);
  // x {B, C, H, W}; as x.
  Tensor forward(Context& cx, const Tensor& x) const;
  Tensor activated(Context& cx, const Tensor& x) const;  // and SiLU

  Param gamma;
};

// A part of the encoder's list, or of a level of the decoder.
class OneFramePart : public Module {
 public:
  using Module::Module;
  virtual Tensor forward(Context& cx, const Tensor& x) const = 0;
};

class OneFrameResnet final : public OneFramePart {
 public:
  OneFrameResnet(Module* parent, const std::string& name, int64_t in, int64_t out,
                 FilterFrames frames = FilterFrames::all);
  const char* class_name() const override { return "QwenImageResidualBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const override;

  ChannelRmsNorm norm1;
  CausalConv3d conv1;
  ChannelRmsNorm norm2;
  CausalConv3d conv2;
  std::optional<CausalConv3d> conv_shortcut;
};

// Attention over the pixels of the frame, of one head (diffusers QwenImageAttentionBlock).
class OneFrameAttention final : public Module {
 public:
  OneFrameAttention(Module* parent, const std::string& name, int64_t channels);
  const char* class_name() const override { return "QwenImageAttentionBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  ChannelRmsNorm norm;
  Conv2d to_qkv, proj;
};

// Twice or half the rows and columns (diffusers QwenImageResample). Where it changes the count of
// frames too, files have time_conv, which no video of one frame meets.
class OneFrameResample final : public OneFramePart {
 public:
  enum class Way { up, down };
  OneFrameResample(Module* parent, const std::string& name, int64_t in, int64_t out, Way way,
                   bool over_time, FilterFrames frames = FilterFrames::all);
  const char* class_name() const override { return "QwenImageResample"; }
  Tensor forward(Context& cx, const Tensor& x) const override { return added(cx, x, nullptr); }
  // The same plus `residual`, of the result's shape; null: nothing.
  Tensor added(Context& cx, const Tensor& x, const Tensor* residual) const;

  ModuleList<Conv2d> resample;  // 0 is the padding or the nearest-neighbour resize
  std::optional<CausalConv3d> time_conv;

 private:
  Way way_;
};

class OneFrameMidBlock final : public Module {
 public:
  OneFrameMidBlock(Module* parent, const std::string& name, int64_t channels,
                   FilterFrames frames = FilterFrames::all);
  const char* class_name() const override { return "QwenImageMidBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  ModuleList<OneFrameAttention> attentions;
  ModuleList<OneFrameResnet> resnets;
};

// x * scale[c] + shift[c] for each channel c of {B, C, H, W}.
Tensor scaled_channels(Context& cx, const Tensor& x, const std::vector<double>& scale,
                       const std::vector<double>& shift);
// (x - mean[c]) / deviation[c] of each.
Tensor normalised_channels(Context& cx, const Tensor& x, const std::vector<double>& mean,
                           const std::vector<double>& deviation);

}  // namespace omnirt::nn
