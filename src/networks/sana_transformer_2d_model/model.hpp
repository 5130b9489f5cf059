#pragma once
#include "networks/sana_transformer_2d_model/guided_time.hpp"
#include "nn/blocks/pixart_embeddings.hpp"
#include "nn/blocks/sana_blocks.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct SanaInput {
  Tensor sample;                   // {B, C, H, W}
  Tensor timestep;                 // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;    // {B, T, caption_channels}: tokens alone, no padding
  std::optional<Tensor> guidance;  // {B}: the guidance scale; where guidance_embeds

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("guidance", self.guidance);
  }
};

// Sana's diffusion transformer (Xie et al. 2024, arXiv 2410.10629; 2025, arXiv 2501.18427;
// diffusers sana_transformer.py): few tokens, which attend to each other at a cost linear in their
// number.
class SanaTransformer2DModel final : public nn::Transformer<SanaInput, nn::SanaContext> {
 public:
  SanaTransformer2DModel(const SanaTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "SanaTransformer2DModel"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override;
  std::array<int64_t, 2> sample_size() const override {
    return {config_.sample_size, config_.sample_size};
  }
  int64_t context_dim() const override { return config_.caption_channels; }
  bool takes_guidance_scale() const override { return config_.guidance_embeds; }
  std::vector<nn::ResidualSite> residual_sites() const override;
  // What timesteps are multiplied by: 1 where the guidance scale is an input, since the reference's
  // pipelines of such models do not.
  double timestep_scale() const { return config_.guidance_embeds ? 1.0 : config_.timestep_scale; }
  int64_t predicted_channels() const { return config_.predicted_channels(); }
  // Latents of a token, a side.
  int64_t patch_size() const { return config_.patch_size; }

  nn::PatchEmbed patch_embed;
  std::optional<nn::AdaLayerNormSingle> time_embed;
  std::optional<SanaGuidedTime> guided_time_embed;  // by the same name, in its place
  nn::PixArtAlphaTextProjection caption_projection;
  nn::RmsNorm caption_norm;
  nn::ModuleList<nn::SanaTransformerBlock> transformer_blocks;
  Param scale_shift_table;  // {2, D}: shift and scale of the last norm
  nn::SanaModulatedNorm norm_out;
  nn::Linear proj_out;

 private:
  std::vector<nn::NetworkInput> own_inputs() const override {
    return nn::only_where(config_.guidance_embeds, {"guidance"}, nn::input_names<SanaInput>());
  }
  Trunk enter(Context& cx, const SanaInput& input) const override;
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const nn::SanaContext& call) const override;
  // Of all that the checkpoint predicts, the noise alone: the reference's pipelines ignore a
  // variance.
  Tensor leave(Context& cx, const Tensor& tokens, const nn::SanaContext& call) const override;

  nn::AdaLayerNormSingle::Result embedded_time(Context& cx, const SanaInput& input) const;

  SanaTransformer2DConfig config_;
};

const nn::NetworkInfo& sana_transformer_2d_model_info();

}  // namespace omnirt
