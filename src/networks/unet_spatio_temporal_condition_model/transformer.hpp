#pragma once
#include "nn/blocks/spatio_temporal.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/blocks/transformer.hpp"

namespace omnirt {

// What every block of one call receives: how many frames a video has, the time embedding, and what
// they attend to, by video {B, S, D} and by frame {B F, S, D}.
struct VideoCall {
  int64_t frames = 0;
  nn::VideoTime time;
  Tensor context;
  nn::AttentionContext frame_context;
};

// A transformer block over the frames of each place (diffusers attention.py
// TemporalBasicTransformerBlock, its inner width that of its input).
class TemporalBasicTransformerBlock final : public nn::Module {
 public:
  TemporalBasicTransformerBlock(Module* parent, const std::string& name, int64_t dim,
                                const nn::TransformerOptions& options);
  const char* class_name() const override { return "TemporalBasicTransformerBlock"; }
  // x {B F, T, dim}.
  Tensor forward(Context& cx, const Tensor& x, const VideoCall& call) const;

  nn::LayerNorm norm_in;
  nn::FeedForward ff_in;
  nn::LayerNorm norm1;
  nn::Attention attn1;
  nn::LayerNorm norm2;
  nn::Attention attn2;
  nn::LayerNorm norm3;
  nn::FeedForward ff;
};

// Blocks over the pixels of each frame, each followed by one over the frames and mixed with it
// (diffusers transformer_temporal.py TransformerSpatioTemporalModel).
class TransformerSpatioTemporalModel final : public nn::Module {
 public:
  TransformerSpatioTemporalModel(Module* parent, const std::string& name, int64_t channels,
                                 const nn::TransformerOptions& options);
  const char* class_name() const override { return "TransformerSpatioTemporalModel"; }
  // x {B F, channels, H, W}.
  Tensor forward(Context& cx, const Tensor& x, const VideoCall& call) const;

  nn::GroupNorm norm;
  nn::Linear proj_in;
  nn::ModuleList<nn::BasicTransformerBlock> transformer_blocks;
  nn::ModuleList<TemporalBasicTransformerBlock> temporal_transformer_blocks;
  nn::TimestepEmbedding time_pos_embed;
  nn::AlphaBlender time_mixer;
  nn::Linear proj_out;

 private:
  // What distinguishes frames, {F, 1, channels}; the same at every step.
  Tensor places_of_frames(Context& cx, const VideoCall& call) const;
};

}  // namespace omnirt
