#pragma once
#include "ops/activation.hpp"
#include "ops/attention.hpp"
#include "ops/blur.hpp"
#include "ops/causal_conv3d.hpp"
#include "ops/conv2d.hpp"
#include "ops/elementwise.hpp"
#include "ops/embedding.hpp"
#include "ops/frames.hpp"
#include "ops/grouped_conv2d.hpp"
#include "ops/linear.hpp"
#include "ops/linear_attention.hpp"
#include "ops/norm.hpp"
#include "ops/position.hpp"
#include "ops/rotary.hpp"
#include "ops/sample.hpp"

namespace omnirt::ops {

// All ops, each with the kernels that a backend added. A table without kernels computes by the
// references alone.
struct OpTable {
  Op<Activate> activate;
  Op<Geglu> geglu;
  Op<Swiglu> swiglu;
  Op<Linear> linear;
  Op<GatedLinear> gated_linear;
  Op<Conv2d> conv2d;
  Op<GroupedConv2d> grouped_conv2d;
  Op<CausalConv3d> causal_conv3d;
  Op<LastFrames> last_frames;
  Op<GroupNorm> group_norm;
  Op<LayerNorm> layer_norm;
  Op<RmsNorm> rms_norm;
  Op<BatchNorm> batch_norm;
  Op<Attention> attention;
  Op<LinearAttention> linear_attention;
  Op<KeyMask> key_mask;
  Op<BlurTokens> blur_tokens;
  Op<RelativePositionBias> relative_position_bias;
  Op<AddPositions> add_positions;
  Op<TokenPositions> token_positions;
  Op<RotaryTable> rotary_table;
  Op<Rotary> rotary;
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
  Op<TakeRows> take_rows;
  Op<Blend> blend;

  // Calls v with each op; v takes `auto&`. Whatever runs over all ops goes by it.
  static void visit(auto& table, auto&& v) {
    v(table.activate);
    v(table.geglu);
    v(table.swiglu);
    v(table.linear);
    v(table.gated_linear);
    v(table.conv2d);
    v(table.grouped_conv2d);
    v(table.causal_conv3d);
    v(table.last_frames);
    v(table.group_norm);
    v(table.layer_norm);
    v(table.rms_norm);
    v(table.batch_norm);
    v(table.attention);
    v(table.linear_attention);
    v(table.key_mask);
    v(table.blur_tokens);
    v(table.relative_position_bias);
    v(table.add_positions);
    v(table.token_positions);
    v(table.rotary_table);
    v(table.rotary);
    v(table.embedding);
    v(table.timestep_embedding);
    v(table.add);
    v(table.concat);
    v(table.modulate);
    v(table.gate);
    v(table.avg_pool2d);
    v(table.upsample_nearest);
    v(table.soft_clamp);
    v(table.affine);
    v(table.gaussian_sample);
    v(table.state_at_token);
    v(table.swap_rows);
    v(table.take_rows);
    v(table.blend);
  }
};

struct OpInfo {
  std::string name;
  std::string summary;
};
// All ops, in the table's order.
std::vector<OpInfo> list_ops();

}  // namespace omnirt::ops
