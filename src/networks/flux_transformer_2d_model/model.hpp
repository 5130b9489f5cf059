#pragma once
#include <optional>

#include "nn/blocks/flux_blocks.hpp"
#include "nn/denoiser_network.hpp"

namespace omnirt {

struct FluxInput {
  Tensor sample;                            // {B, C, H, W}, 2x2 latents per token
  Tensor timestep;                          // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;             // {B, T, joint_attention_dim}
  Tensor pooled_projections;                // {B, pooled_projection_dim}
  std::optional<Tensor> guidance;           // {B}: the guidance scale; where guidance_embeds
  std::optional<Tensor> reference_latents;  // {B, N, 4 C}: tokens of reference images
  std::optional<Tensor> reference_ids;      // {B, N, 4}: their positions, all rows alike
  // Of ControlNets, {B, L, D} for each block; not with reference images.
  std::vector<Tensor> controlnet_block_samples;
  std::vector<Tensor> controlnet_single_block_samples;
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
    v("controlnet_block_samples", self.controlnet_block_samples);
    v("controlnet_single_block_samples", self.controlnet_single_block_samples);
    v("ip_adapter_keys", self.ip_adapter_keys);
    v("ip_adapter_values", self.ip_adapter_values);
  }
};

// FLUX.1's diffusion transformer (diffusers transformer_flux.py): blocks that keep text and image
// apart except in attention, then blocks over both. It packs latents into tokens itself, as the
// reference's pipelines do before they call it.
class FluxTransformer2DModel final : public nn::DenoiserNetwork {
 public:
  FluxTransformer2DModel(const FluxTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "FluxTransformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;
  nn::AdapterNames adapter_names() const override;

  // {B, out_channels(), H, W}. Throws InternalError for odd sides.
  Tensor predict(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override;

  // Channels of latents, a quarter of a token's.
  int64_t in_channels() const override { return config_.in_channels / config_.latents_of_a_token; }
  int64_t out_channels() const override {
    return config_.predicted_channels() / config_.latents_of_a_token;
  }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  int64_t pooled_dim() const override { return config_.pooled_projection_dim; }
  bool takes_guidance_scale() const override { return config_.guidance_embeds; }
  bool caches_blocks() const override { return config_.num_layers > 0; }
  std::vector<nn::ResidualSite> residual_sites() const override;

  nn::TimeTextEmbedding time_text_embed;
  nn::Linear context_embedder;
  nn::Linear x_embedder;
  nn::ModuleList<nn::FluxTransformerBlock> transformer_blocks;
  nn::ModuleList<nn::FluxSingleTransformerBlock> single_transformer_blocks;
  nn::AdaLayerNormContinuous norm_out;
  nn::Linear proj_out;

 private:
  nn::TextAndImage embedded(Context& cx, const FluxInput& input, const Tensor& latents) const;
  Tensor through_blocks(Context& cx, const FluxInput& input, nn::TextAndImage streams,
                        const nn::FluxContext& context) const;
  Tensor through_single_blocks(Context& cx, const FluxInput& input, Tensor h, int64_t texts,
                               const nn::FluxContext& context) const;

  FluxTransformer2DConfig config_;
};

const nn::NetworkInfo& flux_transformer_2d_model_info();

}  // namespace omnirt
