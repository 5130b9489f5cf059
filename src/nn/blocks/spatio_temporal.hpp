#pragma once
#include "nn/blocks/resnet.hpp"

namespace omnirt::nn {

// Maps of a video's frames are {B F, C, H, W}, the frames of a video after each other.

// {B F, C, H, W} -> {B, C, F, H W}: a view in both memory layouts. In channels-last order it is a
// image in that order again, F high and H W wide, so that what runs over frames is a kernel of
// height 3 and width 1, and a GroupNorm over whole videos is a GroupNorm over images.
Tensor videos_of(const Tensor& maps, int64_t frames);
// {B, C, F, H W} -> {B F, C, H, W}; a view in channels-last order, else a copy.
Tensor maps_of(const Tensor& videos, int64_t height, int64_t width);
// {B, ...} -> {B F, ...}: each row once per frame.
Tensor each_frame(const Tensor& rows, int64_t frames);

// Mixes what a layer over space and one over time made, by a learned share (diffusers resnet.py
// AlphaBlender for frames that belong to a video; switched as in TemporalDecoder).
class AlphaBlender final : public Module {
 public:
  AlphaBlender(Module* parent, const std::string& name, bool switched);
  Tensor forward(Context& cx, const Tensor& spatial, const Tensor& temporal) const;

  Param mix_factor;  // {1}

 private:
  bool switched_;
};

// A convolution over three frames at each place: the checkpoint's weight {out, in, 3, 1, 1}, bias
// {out}; x and result {B, C, F, H W}.
class TemporalConv final : public Module {
 public:
  TemporalConv(Module* parent, const std::string& name, int64_t in, int64_t out);
  Tensor forward(Context& cx, const Tensor& x, const ConvEpilogue& epilogue = {}) const;

  Param weight, bias;
};

// A resnet over frames (diffusers resnet.py TemporalResnetBlock, in and out alike).
class TemporalResnetBlock final : public Module {
 public:
  TemporalResnetBlock(Module* parent, const std::string& name, const ResnetOptions& options);
  const char* class_name() const override { return "TemporalResnetBlock"; }
  // x {B, C, F, H W}; temb {B, temb}, activated, the same for all frames of a video; null where the
  // block takes none.
  Tensor forward(Context& cx, const Tensor& x, const Tensor* temb) const;

  GroupNorm norm1;
  TemporalConv conv1;
  std::optional<Linear> time_emb_proj;
  GroupNorm norm2;
  TemporalConv conv2;
};

struct SpatioTemporalOptions {
  ResnetOptions resnet;
  double temporal_eps = 1e-5;
  bool switched = false;  // what the learned share is a share of, see AlphaBlender
};

// The time embedding of videos, activated, by video {B, temb} and by frame {B F, temb}.
struct VideoTime {
  Tensor videos;
  Tensor frames;
};

// A resnet over each frame, one over the frames, and their mix (diffusers resnet.py
// SpatioTemporalResBlock).
class SpatioTemporalResBlock final : public Module {
 public:
  SpatioTemporalResBlock(Module* parent, const std::string& name,
                         const SpatioTemporalOptions& options);
  const char* class_name() const override { return "SpatioTemporalResBlock"; }
  // x {B F, in, H, W}; time null where the block takes none; {B F, out, H, W}.
  Tensor forward(Context& cx, const Tensor& x, int64_t frames, const VideoTime* time) const;

  ResnetBlock2D spatial_res_block;
  TemporalResnetBlock temporal_res_block;
  AlphaBlender time_mixer;
};

}  // namespace omnirt::nn
