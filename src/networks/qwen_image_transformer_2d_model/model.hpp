#pragma once
#include <optional>

#include "nn/blocks/qwen_image_blocks.hpp"
#include "nn/denoiser_network.hpp"

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
  std::optional<Tensor> additional_t_cond;       // {B} int64, 0 or 1; where use_additional_t_cond
  std::vector<Tensor> controlnet_block_samples;  // {B, L, D} for each block; not with references
  // Texts for parts of the image (EliGen, arXiv 2501.01097), before the text's tokens: {B, E,
  // joint_attention_dim}; with them the place of each token of all texts in its own, {B, E + T},
  // and what is added to the scores of attention among all tokens, {B, N, N}, padding included.
  std::optional<Tensor> entity_hidden_states, text_ids, attention_bias;
  // {B, L, D}: the image's tokens after the last block, where begin() and through() made them.
  std::optional<Tensor> made_by_blocks;

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
    v("controlnet_block_samples", self.controlnet_block_samples);
    v("entity_hidden_states", self.entity_hidden_states);
    v("text_ids", self.text_ids);
    v("attention_bias", self.attention_bias);
    v("made_by_blocks", self.made_by_blocks);
  }
};

// Qwen-Image's diffusion transformer (Qwen Team 2025, arXiv 2508.02324; diffusers
// transformer_qwenimage.py): blocks that keep text and image apart except in attention.
class QwenImageTransformer2DModel final : public nn::DenoiserNetwork {
 public:
  QwenImageTransformer2DModel(const QwenImageTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "QwenImageTransformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // {B, out_channels, H, W}; H and W are multiples of patch_size.
  Tensor predict(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override;

  // For a run that adds to what each block made. What through() takes, of predict's inputs: image
  // and text, the tokens {B, L, D} and {B, T, D}, with what all blocks share. Not with references.
  Values begin(Context& cx, const Values& inputs) const;
  // image and text after block `block`.
  Values through(Context& cx, const Values& state, size_t block) const;

  int64_t in_channels() const override { return config_.latent_channels(); }
  int64_t out_channels() const override { return config_.predicted_channels(); }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  bool caches_blocks() const override { return config_.num_layers > 0; }
  std::vector<nn::ResidualSite> residual_sites() const override {
    return {{"controlnet_block_samples", transformer_blocks.size(), config_.inner_dim(),
             config_.patch_size}};
  }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
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
  // {B, E + T, D}.
  Tensor text_tokens(Context& cx, const QwenImageInput& input) const;
  Tensor bias(Context& cx, const QwenImageInput& input, const Tensor& image) const;
  // {B, D}: SiLU of the embedded timestep.
  Tensor activated(Context& cx, const QwenImageInput& input, double share = 1.0) const;
  Tensor rotary(Context& cx, const QwenImageInput& input) const;
  Tensor all_blocks(Context& cx, const QwenImageInput& input, const Tensor& activated,
                    int64_t made) const;
  Tensor patches(Context& cx, const QwenImageInput& input, int64_t made) const;
  // {B, L, D}: the image that is made, and those to go by.
  Tensor image_tokens(Context& cx, const QwenImageInput& input) const;

  QwenImageTransformer2DConfig config_;
};

const nn::NetworkInfo& qwen_image_transformer_2d_model_info();

}  // namespace omnirt
