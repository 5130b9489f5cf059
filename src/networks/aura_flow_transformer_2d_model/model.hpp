#pragma once
#include "networks/aura_flow_transformer_2d_model/blocks.hpp"
#include "nn/blocks/time_embedding.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct AuraFlowInput {
  Tensor sample;                 // {B, C, H, W}
  Tensor timestep;               // {B} or {1}, 0..1000: how much of the sample is noise
  Tensor encoder_hidden_states;  // {B, T, joint_attention_dim}: zeros where there is no token

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
  }
};

// What the blocks of a call share.
struct AuraFlowCall {
  Tensor activated;       // {B, D}: SiLU of the embedded timestep
  int64_t height, width;  // tokens
};

// AuraFlow's diffusion transformer (fal 2024, blog.fal.ai/auraflow; diffusers
// auraflow_transformer_2d.py): text and image in streams of their own, then in one.
class AuraFlowTransformer2DModel final : public nn::Transformer<AuraFlowInput, AuraFlowCall> {
 public:
  AuraFlowTransformer2DModel(const AuraFlowTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "AuraFlowTransformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.out_channels; }
  std::array<int64_t, 2> sample_size() const override {
    return {config_.sample_size, config_.sample_size};
  }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  // Latents of a token, a side.
  int64_t patch_size() const { return config_.patch_size; }
  // How many tokens there are positions for, a side.
  int64_t positions_side() const { return config_.positions_side(); }

  AuraFlowPatchEmbed pos_embed;
  nn::Linear context_embedder;
  nn::TimestepEmbedding time_step_proj;
  nn::ModuleList<AuraFlowJointTransformerBlock> joint_transformer_blocks;
  nn::ModuleList<AuraFlowSingleTransformerBlock> single_transformer_blocks;
  AuraFlowPreFinalBlock norm_out;
  nn::Linear proj_out;
  Param register_tokens;  // {1, 8, D}, before each text's

 private:
  Trunk enter(Context& cx, const AuraFlowInput& input) const override;
  std::optional<size_t> joined_from() const override { return joint_transformer_blocks.size(); }
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const AuraFlowCall& call) const override;
  // Noise minus image, {B, C, H, W}.
  Tensor leave(Context& cx, const Tensor& tokens, const AuraFlowCall& call) const override;

  Tensor activated_time(Context& cx, const AuraFlowInput& input) const;
  // With the register tokens before it.
  Tensor embedded_text(Context& cx, const Tensor& text) const;

  AuraFlowTransformer2DConfig config_;
};

const nn::NetworkInfo& aura_flow_transformer_2d_model_info();

}  // namespace omnirt
