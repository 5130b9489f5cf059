#pragma once
#include "nn/blocks/sd3_blocks.hpp"
#include "nn/blocks/time_text_embedding.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct SD3Input {
  Tensor sample;                 // {B, C, H, W}
  Tensor timestep;               // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;  // {B, T, joint_attention_dim}
  Tensor pooled_projections;     // {B, pooled_projection_dim}

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("pooled_projections", self.pooled_projections);
  }
};

// What the blocks of a call share.
struct SD3Call {
  Tensor activated;  // {B, D}: SiLU of the embedded timestep and prompt
  nn::SD3Grid grid;
};

// The diffusion transformer of Stable Diffusion 3 and 3.5 (Esser et al. 2024, arXiv 2403.03206;
// diffusers transformer_sd3.py).
class SD3Transformer2DModel final : public nn::Transformer<SD3Input, SD3Call> {
 public:
  SD3Transformer2DModel(const SD3Transformer2DConfig& config, Json json);
  const char* class_name() const override { return "SD3Transformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  std::vector<nn::ResidualSite> residual_sites() const override {
    return {{.input = "block_controlnet_hidden_states",
             .blocks = transformer_blocks.size(),
             .dim = config_.inner_dim(),
             .patch = config_.patch_size,
             .unused = 1}};
  }
  Tensor image_tokens(Context& cx, const Values& inputs) const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.predicted_channels(); }
  std::array<int64_t, 2> sample_size() const override {
    return {config_.sample_size, config_.sample_size};
  }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  bool predicts_attentions() const override { return true; }
  int64_t pooled_dim() const override { return config_.pooled_projection_dim; }
  // Latents of a token, in height and in width, and the most tokens of a side.
  int64_t patch_size() const { return config_.patch_size; }
  int64_t max_side() const { return config_.pos_embed_max_size; }

  nn::SD3PatchEmbed pos_embed;
  nn::TimeTextEmbedding time_text_embed;
  nn::Linear context_embedder;
  nn::ModuleList<nn::SD3TransformerBlock> transformer_blocks;
  nn::AdaLayerNormContinuous norm_out;
  nn::Linear proj_out;

 private:
  // Throws InternalError for sides of no whole tokens, or of more than there are positions for.
  Trunk enter(Context& cx, const SD3Input& input) const override;
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const SD3Call& call) const override;
  Tensor leave(Context& cx, const Tensor& tokens, const SD3Call& call) const override;

  SD3Transformer2DConfig config_;
};

const nn::NetworkInfo& sd3_transformer_2d_model_info();

}  // namespace omnirt
