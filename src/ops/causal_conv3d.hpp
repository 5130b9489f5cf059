#pragma once
#include <array>

#include "ops/op.hpp"
#include "ops/packing.hpp"

namespace omnirt::ops {

// y = conv3d(frames, weight) + bias + residual, where no frame reads a later one (Wan's
// autoencoder, arXiv 2503.20314). x {B F, C, H, W} holds B videos of F consecutive frames; weight
// {O, C, T, k, k}, bias {O}. Each video is read as `zeros` frames of zeros, then its frames in
// `past` {B P, C, H, W}, then those in x, so that y is {B F', O, H', W'} with
// F' = (zeros + P + F - T) / time_stride + 1.
struct CausalConv3d {
  static constexpr const char* name = "causal_conv3d";
  static constexpr const char* summary =
      "y = conv3d(frames, weight) + bias + residual, reading no later frame";
  const Tensor& x;
  const Tensor& weight;
  const Tensor* bias = nullptr;
  int64_t frames = 1;  // F
  int64_t zeros = 0;   // at most T - 1
  const Tensor* past = nullptr;
  int64_t time_stride = 1;
  // Zeros around each frame, {left, right, top, bottom}.
  std::array<int64_t, 4> padding{0, 0, 0, 0};
  const Tensor* residual = nullptr;
  PackSlot* pack = nullptr;  // where kernels keep further forms of the weight; null: nowhere

  int64_t videos() const { return x.size(0) / frames; }                        // B
  int64_t past_frames() const { return past ? past->size(0) / videos() : 0; }  // P
  int64_t frames_made() const {
    return (zeros + past_frames() + frames - weight.size(2)) / time_stride + 1;
  }

  static Shape shape(const CausalConv3d& args);
  static Tensor reference(const CausalConv3d& args);
  static bool fits(const CausalConv3d& args);
  static CausalConv3d with_weight(const CausalConv3d& args, const Tensor& weight) {
    return {args.x,    weight,           args.bias,    args.frames,   args.zeros,
            args.past, args.time_stride, args.padding, args.residual, args.pack};
  }
  static Samples<CausalConv3d> samples();
};

// The last `count` frames of `past` and x together, or all where there are fewer: a new tensor, to
// be the `past` of the next frames. x {F, ...}, past {P, ...}.
struct LastFrames {
  static constexpr const char* name = "last_frames";
  static constexpr const char* summary = "the last frames of a video so far, for the next chunk";
  const Tensor& x;
  const Tensor* past = nullptr;
  int64_t count = 1;
  static Shape shape(const LastFrames& args);
  static Tensor reference(const LastFrames& args);
  static bool fits(const LastFrames& args);
  static Samples<LastFrames> samples();
};

}  // namespace omnirt::ops
