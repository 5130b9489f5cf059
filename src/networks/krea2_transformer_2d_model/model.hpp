#pragma once
#include "networks/krea2_transformer_2d_model/blocks.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct Krea2Input {
  Tensor sample;              // {B, C, H, W}, 2x2 latents per token
  nn::DistinctRows timestep;  // {B} or {1}, 0..1000
  // {B, T, num_text_layers * text_hidden_dim}: the states of a token in each layer, one after the
  // other; none is padding.
  Tensor encoder_hidden_states;

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
  }
};

// What the blocks of a call share.
struct Krea2Call {
  Tensor embedded;        // {B or 1, D}: the timestep
  Tensor modulation;      // {B or 1, 6, D}
  Tensor rotary;          // {2, T + L, head_dim / 2}
  int64_t height, width;  // tokens
};

// Krea 2's diffusion transformer (diffusers transformer_krea2.py): text and image as one sequence.
// It packs latents into tokens itself, as the reference's pipeline does before it calls it.
class Krea2Transformer2DModel final : public nn::Transformer<Krea2Input, Krea2Call> {
 public:
  Krea2Transformer2DModel(const Krea2Transformer2DConfig& config, Json json);
  const char* class_name() const override { return "Krea2Transformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // Channels of latents, a quarter of a token's.
  int64_t in_channels() const override;
  int64_t out_channels() const override { return in_channels(); }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  int64_t context_dim() const override { return config_.num_text_layers * config_.text_hidden_dim; }
  bool predicts_attentions() const override { return true; }
  // How many of a text encoder's layers it reads, and the width of their states.
  int64_t num_text_layers() const { return config_.num_text_layers; }
  int64_t text_hidden_dim() const { return config_.text_hidden_dim; }

  nn::Linear img_in;
  Krea2TimestepEmbedding time_embed;
  nn::Linear time_mod_proj;
  Krea2TextFusion text_fusion;
  Krea2TextProjection txt_in;
  nn::ModuleList<Krea2TransformerBlock> transformer_blocks;
  Krea2FinalLayer final_layer;

 private:
  // Throws InternalError for odd sides.
  Trunk enter(Context& cx, const Krea2Input& input) const override;
  std::optional<size_t> joined_from() const override { return 0; }
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const Krea2Call& call) const override;
  Tensor leave(Context& cx, const Tensor& tokens, const Krea2Call& call) const override;

  Tensor text_tokens(Context& cx, const Tensor& text) const;
  Tensor rotary(Context& cx, const Tensor& text, int64_t height, int64_t width) const;

  Krea2Transformer2DConfig config_;
};

const nn::NetworkInfo& krea2_transformer_2d_model_info();

}  // namespace omnirt
