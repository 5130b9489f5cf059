#pragma once
#include <optional>

#include "networks/chroma_transformer_2d_model/blocks.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct ChromaInput {
  Tensor sample;                 // {B, C, H, W}, 2x2 latents per token
  nn::DistinctRows timestep;     // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;  // {B, T, joint_attention_dim}
  // {B, T}: 1 where the text has a token, and for the first one behind it. Where it is absent, all
  // are tokens.
  std::optional<Tensor> encoder_attention_mask;

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("encoder_attention_mask", self.encoder_attention_mask);
  }
};

// Chroma's diffusion transformer (diffusers transformer_chroma.py): FLUX.1's blocks, whose
// modulations one small network makes of the timestep. It packs latents into tokens itself, as the
// reference's pipelines do before they call it.
class ChromaTransformer2DModel final : public nn::Transformer<ChromaInput, ChromaContext> {
 public:
  ChromaTransformer2DModel(const ChromaTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "ChromaTransformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // Channels of latents, a quarter of a token's.
  int64_t in_channels() const override;
  int64_t out_channels() const override;
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  bool predicts_attentions() const override { return true; }

  ChromaApproximator distilled_guidance_layer;
  nn::Linear context_embedder;
  nn::Linear x_embedder;
  nn::ModuleList<ChromaTransformerBlock> transformer_blocks;
  nn::ModuleList<ChromaSingleTransformerBlock> single_transformer_blocks;
  nn::LayerNorm norm_out;
  nn::Linear proj_out;

 private:
  // Throws InternalError for odd sides.
  Trunk enter(Context& cx, const ChromaInput& input) const override;
  std::optional<size_t> joined_from() const override { return transformer_blocks.size(); }
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const ChromaContext& call) const override;
  Tensor leave(Context& cx, const Tensor& tokens, const ChromaContext& call) const override;

  // {B or 1, N, D}.
  Tensor modulations(Context& cx, const ChromaInput& input) const;

  ChromaTransformer2DConfig config_;
};

const nn::NetworkInfo& chroma_transformer_2d_model_info();

}  // namespace omnirt
