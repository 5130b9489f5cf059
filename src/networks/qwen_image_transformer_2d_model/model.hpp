#pragma once
#include <optional>

#include "nn/blocks/qwen_image_blocks.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct QwenImageInput {
  Tensor sample;                                 // {B, C, H, W}: each square of patch_size a token
  Tensor timestep;                               // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;                  // {B, T, joint_attention_dim}
  std::optional<Tensor> encoder_attention_mask;  // {B, T}: 0 where a text has padding
  std::optional<Tensor> reference_latents;       // {B, N, in_channels}: tokens of reference images
  std::optional<Tensor> reference_ids;           // {B, N, 3}: their positions, all rows alike
  std::optional<Tensor> text_start;  // {B, 1}: the text's first position, where there are such
  // {B, L, 3}: positions of the sample's tokens, all rows alike, where use_layer3d_rope: its layers
  // lie below each other in it.
  std::optional<Tensor> sample_ids;
  std::optional<Tensor> additional_t_cond;  // {B} int64, 0 or 1; where use_additional_t_cond
  // Texts for parts of the image (EliGen, arXiv 2501.01097), before the text's tokens: {B, E,
  // joint_attention_dim}; with them the place of each token of all texts in its own, {B, E + T},
  // and what is added to the scores of attention among all tokens, {B, N, N}, padding included.
  std::optional<Tensor> entity_hidden_states, text_ids, attention_bias;

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("encoder_attention_mask", self.encoder_attention_mask);
    v("reference_latents", self.reference_latents);
    v("reference_ids", self.reference_ids);
    v("text_start", self.text_start);
    v("sample_ids", self.sample_ids);
    v("additional_t_cond", self.additional_t_cond);
    v("entity_hidden_states", self.entity_hidden_states);
    v("text_ids", self.text_ids);
    v("attention_bias", self.attention_bias);
  }
};

// Qwen-Image's diffusion transformer (Qwen Team 2025, arXiv 2508.02324; diffusers
// transformer_qwenimage.py): blocks that keep text and image apart except in attention.
class QwenImageTransformer2DModel final
    : public nn::Transformer<QwenImageInput, nn::QwenImageCall> {
 public:
  QwenImageTransformer2DModel(const QwenImageTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "QwenImageTransformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  int64_t in_channels() const override { return config_.latent_channels(); }
  int64_t out_channels() const override { return config_.predicted_channels(); }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  std::vector<nn::ResidualSite> residual_sites() const override {
    return {{"controlnet_block_samples", transformer_blocks.size(), config_.inner_dim(),
             config_.patch_size}};
  }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  bool predicts_attentions() const override { return true; }
  int64_t patch_size() const { return config_.patch_size; }
  // Whether it was trained on layers of images.
  bool takes_layers() const { return config_.use_layer3d_rope; }

  nn::QwenTimestepProjEmbeddings time_text_embed;
  nn::RmsNorm txt_norm;
  nn::Linear img_in, txt_in;
  nn::ModuleList<nn::QwenImageTransformerBlock> transformer_blocks;
  nn::QwenImageNormOut norm_out;
  nn::Linear proj_out;

 private:
  std::vector<nn::NetworkInput> own_inputs() const override {
    return nn::required_where(
        config_.use_layer3d_rope, {"sample_ids"},
        nn::required_where(config_.use_additional_t_cond, {"additional_t_cond"},
                           nn::input_names<QwenImageInput>()));
  }
  Trunk enter(Context& cx, const QwenImageInput& input) const override;
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const nn::QwenImageCall& call) const override;
  Tensor leave(Context& cx, const Tensor& tokens, const nn::QwenImageCall& call) const override;
  Values saved_call(const nn::QwenImageCall& call) const override;
  nn::QwenImageCall restored_call(const Values& state) const override;

  // {B, E + T, D}.
  Tensor text_tokens(Context& cx, const QwenImageInput& input) const;
  Tensor bias(Context& cx, const QwenImageInput& input, const Tensor& image) const;
  // {B, D}: SiLU of the embedded timestep.
  Tensor activated(Context& cx, const QwenImageInput& input, double share = 1.0) const;
  Tensor rotary(Context& cx, const QwenImageInput& input) const;
  // {B, L, D}: the image that is made, and those to go by.
  Tensor image_tokens(Context& cx, const QwenImageInput& input) const;

  QwenImageTransformer2DConfig config_;
};

const nn::NetworkInfo& qwen_image_transformer_2d_model_info();

}  // namespace omnirt
