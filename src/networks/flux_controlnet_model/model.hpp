#pragma once
#include <optional>

#include "networks/flux_controlnet_model/config.hpp"
#include "nn/blocks/control_embedding.hpp"
#include "nn/blocks/flux_blocks.hpp"
#include "nn/control_network.hpp"

namespace omnirt {

struct FluxControlInput {
  Tensor sample;                       // {B, C, H, W}, 2x2 latents per token
  Tensor timestep;                     // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;        // {B, T, joint_attention_dim}
  Tensor pooled_projections;           // {B, pooled_projection_dim}
  std::optional<Tensor> guidance;      // {B}: the guidance scale; where guidance_embeds
  Tensor controlnet_cond;              // as nn::ControlNetwork::control has it
  std::optional<Tensor> control_mode;  // {1} int64: of a union

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("pooled_projections", self.pooled_projections);
    v("guidance", self.guidance);
    v("controlnet_cond", self.controlnet_cond);
    v("control_mode", self.control_mode);
  }
};

// A few of FLUX.1's blocks that read a control image next to the latents: its latents, or in XLabs'
// form its pixels (diffusers controlnet_flux.py). A union has a token for the kind of control image
// before the text.
class FluxControlNetModel final : public nn::ControlNetwork {
 public:
  FluxControlNetModel(const FluxControlNetConfig& config, Json json);
  const char* class_name() const override { return "FluxControlNetModel"; }
  nn::Metadata metadata() const override;

  Values control(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override;
  std::vector<Residuals> residuals() const override;

  int64_t in_channels() const override {
    return config_.transformer.in_channels / FluxTransformer2DConfig::latents_of_a_token;
  }
  int64_t token_dim() const override { return config_.transformer.inner_dim(); }
  int64_t context_dim() const override { return config_.transformer.joint_attention_dim; }
  int64_t pooled_dim() const override { return config_.transformer.pooled_projection_dim; }
  bool takes_guidance_scale() const override { return config_.transformer.guidance_embeds; }
  int64_t pixels_per_token() const override;
  std::optional<int64_t> modes() const override { return config_.num_mode; }

  nn::TimeTextEmbedding time_text_embed;
  nn::Linear context_embedder;
  nn::Linear x_embedder;
  nn::ModuleList<nn::FluxTransformerBlock> transformer_blocks;
  nn::ModuleList<nn::FluxSingleTransformerBlock> single_transformer_blocks;
  nn::ModuleList<nn::Linear> controlnet_blocks;
  nn::ModuleList<nn::Linear> controlnet_single_blocks;
  std::optional<nn::Embedding> controlnet_mode_embedder;
  std::optional<nn::ControlNetConditioningEmbedding> input_hint_block;
  nn::Linear controlnet_x_embedder;

 private:
  Tensor condition(Context& cx, const Tensor& image) const;
  Tensor text(Context& cx, const FluxControlInput& input) const;
  Values through_blocks(Context& cx, nn::TokenStream streams, const nn::FluxContext& context) const;

  FluxControlNetConfig config_;
};

const nn::NetworkInfo& flux_controlnet_model_info();

}  // namespace omnirt
