#pragma once
#include "ops/activation.hpp"
#include "ops/attention.hpp"
#include "ops/blur.hpp"
#include "ops/conv2d.hpp"
#include "ops/elementwise.hpp"
#include "ops/embedding.hpp"
#include "ops/frames.hpp"
#include "ops/linear.hpp"
#include "ops/norm.hpp"
#include "ops/position.hpp"
#include "ops/sample.hpp"

namespace omnirt::ops {

// All ops, each with the kernels that a backend added. A table without kernels computes by the
// references alone.
struct OpTable {
  Op<Activate> activate;
  Op<Geglu> geglu;
  Op<Linear> linear;
  Op<GatedLinear> gated_linear;
  Op<Conv2d> conv2d;
  Op<GroupNorm> group_norm;
  Op<LayerNorm> layer_norm;
  Op<RmsNorm> rms_norm;
  Op<Attention> attention;
  Op<BlurTokens> blur_tokens;
  Op<RelativePositionBias> relative_position_bias;
  Op<AddPositions> add_positions;
  Op<Embedding> embedding;
  Op<TimestepEmbedding> timestep_embedding;
  Op<Add> add;
  Op<Concat> concat;
  Op<Modulate> modulate;
  Op<Gate> gate;
  Op<AvgPool2d> avg_pool2d;
  Op<UpsampleNearest> upsample_nearest;
  Op<SoftClamp> soft_clamp;
  Op<Affine> affine;
  Op<GaussianSample> gaussian_sample;
  Op<StateAtToken> state_at_token;
  Op<SwapRows> swap_rows;
  Op<Blend> blend;
};

}  // namespace omnirt::ops
