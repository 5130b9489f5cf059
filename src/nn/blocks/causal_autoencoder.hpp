#pragma once
#include <array>
#include <optional>
#include <vector>

#include "nn/frame_state.hpp"
#include "nn/layers.hpp"

// The parts of Wan's autoencoders (Wan Team 2025, arXiv 2503.20314). Each takes either images, of
// which each is a video of one frame, or consecutive frames of one video as rows of a batch, with
// the state that the chunk before left (FrameState); the first chunk of a video is one frame.
namespace omnirt::nn {

// Whether the filters in a model's files reach over frames, or are those of one image.
enum class FilterFrames { all, none };

// A convolution over frames, rows and columns that reads no later frame (diffusers
// QwenImageCausalConv3d).
class CausalConv3d final : public Module {
 public:
  // `time`, `kernel`: frames, and rows and columns, of the weight; no frames: {out, in, k, k}, for
  // images alone.
  CausalConv3d(Module* parent, const std::string& name, int64_t in, int64_t out, int64_t time,
               int64_t kernel);
  // x {B, in, H, W}; {B, out, H, W}. `residual` is added to the result.
  Tensor forward(Context& cx, const Tensor& x, FrameState* state = nullptr,
                 const Tensor* residual = nullptr) const;
  // Half the frames of a video: x {2 n, in, H, W} after a first chunk of one frame, which is
  // returned as it is.
  Tensor halved(Context& cx, const Tensor& x, FrameState& state) const;

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
class CausalPart : public Module {
 public:
  using Module::Module;
  virtual Tensor forward(Context& cx, const Tensor& x, FrameState* state = nullptr) const = 0;
};

class CausalResnet final : public CausalPart {
 public:
  CausalResnet(Module* parent, const std::string& name, int64_t in, int64_t out,
               FilterFrames frames = FilterFrames::all);
  const char* class_name() const override { return "QwenImageResidualBlock"; }
  Tensor forward(Context& cx, const Tensor& x, FrameState* state = nullptr) const override;

  ChannelRmsNorm norm1;
  CausalConv3d conv1;
  ChannelRmsNorm norm2;
  CausalConv3d conv2;
  std::optional<CausalConv3d> conv_shortcut;
};

// Attention over the pixels of each frame, of one head (diffusers QwenImageAttentionBlock).
class FrameAttention final : public Module {
 public:
  FrameAttention(Module* parent, const std::string& name, int64_t channels);
  const char* class_name() const override { return "QwenImageAttentionBlock"; }
  Tensor forward(Context& cx, const Tensor& x) const;

  ChannelRmsNorm norm;
  Conv2d to_qkv, proj;
};

// Twice or half the rows and columns, and frames where it has time_conv and works on a video
// (diffusers QwenImageResample). A video's first frame stays one.
class CausalResample final : public CausalPart {
 public:
  enum class Way { up, down };
  CausalResample(Module* parent, const std::string& name, int64_t in, int64_t out, Way way,
                 bool over_time, FilterFrames frames = FilterFrames::all);
  const char* class_name() const override { return "QwenImageResample"; }
  Tensor forward(Context& cx, const Tensor& x, FrameState* state = nullptr) const override;
  // The same of images, plus `residual`, of the result's shape.
  Tensor added(Context& cx, const Tensor& x, const Tensor& residual) const;

  ModuleList<Conv2d> resample;  // 0 is the padding or the nearest-neighbour resize
  std::optional<CausalConv3d> time_conv;

 private:
  Tensor resampled(Context& cx, const Tensor& x, const Tensor* residual) const;
  // Two frames of each.
  Tensor doubled(Context& cx, const Tensor& x, FrameState& state) const;

  Way way_;
};

class CausalMidBlock final : public Module {
 public:
  CausalMidBlock(Module* parent, const std::string& name, int64_t channels,
                 FilterFrames frames = FilterFrames::all);
  const char* class_name() const override { return "QwenImageMidBlock"; }
  Tensor forward(Context& cx, const Tensor& x, FrameState* state = nullptr) const;

  ModuleList<FrameAttention> attentions;
  ModuleList<CausalResnet> resnets;
};

// x * scale[c] + shift[c] for each channel c of {B, C, H, W}.
Tensor scaled_channels(Context& cx, const Tensor& x, const std::vector<double>& scale,
                       const std::vector<double>& shift);
// (x - mean[c]) / deviation[c] of each.
Tensor normalised_channels(Context& cx, const Tensor& x, const std::vector<double>& mean,
                           const std::vector<double>& deviation);

}  // namespace omnirt::nn
