#include "networks/unet_spatio_temporal_condition_model/transformer.hpp"

#include <ATen/ops/arange.h>

#include "networks/unet_spatio_temporal_condition_model/config.hpp"
#include "nn/layout.hpp"

namespace omnirt {
namespace {

constexpr double layer_norm_eps = 1e-5;
constexpr double group_norm_eps = 1e-6;

nn::AttentionOptions attention(int64_t dim, const nn::TransformerOptions& options,
                               int64_t context_dim) {
  return {
      .dim = dim, .context_dim = context_dim, .heads = options.heads, .head_dim = options.head_dim};
}

}  // namespace

TemporalBasicTransformerBlock::TemporalBasicTransformerBlock(Module* parent,
                                                             const std::string& name, int64_t dim,
                                                             const nn::TransformerOptions& options)
    : Module(parent, name),
      norm_in(this, "norm_in", dim, layer_norm_eps),
      ff_in(this, "ff_in", dim),
      norm1(this, "norm1", dim, layer_norm_eps),
      attn1(this, "attn1", attention(dim, options, 0)),
      norm2(this, "norm2", dim, layer_norm_eps),
      attn2(this, "attn2", attention(dim, options, options.context_dim)),
      norm3(this, "norm3", dim, layer_norm_eps),
      ff(this, "ff", dim) {}

Tensor TemporalBasicTransformerBlock::forward(Context& cx, const Tensor& x,
                                              const VideoCall& call) const {
  return cx.segment(path(), [&] {
    int64_t tokens = x.size(1), videos = x.size(0) / call.frames;
    Tensor h = cx.ops().swap_rows(cx, {x, call.frames});  // {B T, F, dim}
    h = ff_in.forward(cx, norm_in.forward(cx, h), h);
    h = attn1.forward(cx, norm1.forward(cx, h), nullptr, h);
    // All tokens of a video attend to the same context, each for itself.
    h = h.view({videos, tokens * call.frames, h.size(2)});
    h = attn2.forward(cx, norm2.forward(cx, h), &call.context, h);
    h = h.view({videos * tokens, call.frames, h.size(2)});
    h = ff.forward(cx, norm3.forward(cx, h), h);
    return cx.ops().swap_rows(cx, {h, tokens});
  });
}

TransformerSpatioTemporalModel::TransformerSpatioTemporalModel(
    Module* parent, const std::string& name, int64_t channels,
    const nn::TransformerOptions& options)
    : Module(parent, name),
      norm(this, "norm", spatio_temporal_groups, channels, group_norm_eps),
      proj_in(this, "proj_in", channels, channels),
      transformer_blocks(this, "transformer_blocks"),
      temporal_transformer_blocks(this, "temporal_transformer_blocks"),
      time_pos_embed(this, "time_pos_embed",
                     {.in = channels, .out = 4 * channels, .result = channels}),
      time_mixer(this, "time_mixer", /*switched=*/false),
      proj_out(this, "proj_out", channels, channels) {
  for (int64_t i = 0; i < options.layers; ++i) {
    transformer_blocks.add(channels, options);
    temporal_transformer_blocks.add(channels, options);
  }
}

Tensor TransformerSpatioTemporalModel::places_of_frames(Context& cx, const VideoCall& call) const {
  // A constant of the run, as the context that is kept with it is.
  return cx.once(time_pos_embed.path(), call.context, [&] {
    // allocates: a few numbers, once per run.
    Tensor numbers = at::arange(call.frames, call.context.options().dtype(at::kFloat));
    Tensor waves = cx.ops().timestep_embedding(cx, {numbers, time_pos_embed.linear_1.in(),
                                                    /*flip_sin_to_cos=*/true, /*freq_shift=*/0.0});
    return time_pos_embed.forward(cx, nn::in_form(cx, waves), nullptr).unsqueeze(1);
  });
}

Tensor TransformerSpatioTemporalModel::forward(Context& cx, const Tensor& x,
                                               const VideoCall& call) const {
  Tensor places = places_of_frames(cx, call);
  Tensor h = proj_in.forward(cx, nn::tokens_of(norm.forward(cx, x)));
  std::vector<int64_t> rows = h.sizes().vec();
  std::vector<int64_t> by_frame{rows[0] / call.frames, call.frames, rows[1], rows[2]};
  for (size_t i = 0; i < transformer_blocks.size(); ++i) {
    h = transformer_blocks[i].forward(cx, h, call.frame_context);
    Tensor placed = cx.ops().add(cx, {h.view(by_frame), places}).view(rows);
    Tensor mixed = temporal_transformer_blocks[i].forward(cx, placed, call);
    h = time_mixer.forward(cx, h, mixed);
  }
  Tensor residual = nn::tokens_of(x);
  h = proj_out.forward(cx, h, ops::Activation::none, &residual);
  return nn::image_of(h, x.size(2), x.size(3));
}

}  // namespace omnirt
