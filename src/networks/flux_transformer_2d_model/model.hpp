#pragma once
#include <optional>

#include "nn/blocks/flux_blocks.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct FluxInput {
  Tensor sample;                            // {B, C, H, W}, 2x2 latents per token
  Tensor timestep;                          // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;             // {B, T, joint_attention_dim}
  Tensor pooled_projections;                // {B, pooled_projection_dim}
  std::optional<Tensor> guidance;           // {B}: the guidance scale; where guidance_embeds
  std::optional<Tensor> reference_latents;  // {B, N, 4 C}: tokens of reference images
  std::optional<Tensor> reference_ids;      // {B, N, 4}: their positions, all rows alike
  // Of prompting images, {B, N, D} for each of the blocks that keep text and image apart, one
  // IP-Adapter after the other.
  std::vector<Tensor> ip_adapter_keys, ip_adapter_values;

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("pooled_projections", self.pooled_projections);
    v("guidance", self.guidance);
    v("reference_latents", self.reference_latents);
    v("reference_ids", self.reference_ids);
    v("ip_adapter_keys", self.ip_adapter_keys);
    v("ip_adapter_values", self.ip_adapter_values);
  }
};

// What the blocks of a call share.
struct FluxCall {
  nn::FluxContext shared;
  std::vector<nn::PromptingImages> images;  // by block; empty: none
  int64_t height, width;                    // tokens
};

// FLUX.1's diffusion transformer (diffusers transformer_flux.py): blocks that keep text and image
// apart except in attention, then blocks over both. It packs latents into tokens itself, as the
// reference's pipelines do before they call it.
class FluxTransformer2DModel final : public nn::Transformer<FluxInput, FluxCall> {
 public:
  FluxTransformer2DModel(const FluxTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "FluxTransformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;
  nn::AdapterNames adapter_names() const override;

  // Channels of latents, a quarter of a token's.
  int64_t in_channels() const override { return config_.in_channels / config_.latents_of_a_token; }
  int64_t out_channels() const override {
    return config_.predicted_channels() / config_.latents_of_a_token;
  }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  int64_t pooled_dim() const override { return config_.pooled_projection_dim; }
  bool takes_guidance_scale() const override { return config_.guidance_embeds; }
  std::vector<nn::ResidualSite> residual_sites() const override;
  bool predicts_attentions() const override { return true; }

  nn::TimeTextEmbedding time_text_embed;
  nn::Linear context_embedder;
  nn::Linear x_embedder;
  nn::ModuleList<nn::FluxTransformerBlock> transformer_blocks;
  nn::ModuleList<nn::FluxSingleTransformerBlock> single_transformer_blocks;
  nn::AdaLayerNormContinuous norm_out;
  nn::Linear proj_out;

 private:
  std::vector<nn::NetworkInput> own_inputs() const override {
    return nn::only_where(config_.guidance_embeds, {"guidance"}, nn::input_names<FluxInput>());
  }
  // Throws InternalError for odd sides.
  Trunk enter(Context& cx, const FluxInput& input) const override;
  std::optional<size_t> joined_from() const override { return transformer_blocks.size(); }
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const FluxCall& call) const override;
  Tensor leave(Context& cx, const Tensor& tokens, const FluxCall& call) const override;

  nn::TokenStream embedded(Context& cx, const FluxInput& input, const Tensor& latents) const;
  nn::FluxContext context(Context& cx, const FluxInput& input, const Tensor& latents) const;

  FluxTransformer2DConfig config_;
};

const nn::NetworkInfo& flux_transformer_2d_model_info();

}  // namespace omnirt
