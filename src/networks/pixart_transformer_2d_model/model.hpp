#pragma once
#include <optional>

#include "networks/pixart_transformer_2d_model/blocks.hpp"
#include "networks/pixart_transformer_2d_model/config.hpp"
#include "nn/blocks/pixart_embeddings.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct PixArtInput {
  Tensor sample;                                 // {B, C, H, W}
  Tensor timestep;                               // {B} or {1}
  Tensor encoder_hidden_states;                  // {B, S, caption_channels}
  std::optional<Tensor> encoder_attention_mask;  // {B, S}: 1 for a token, 0 for padding
  std::optional<Tensor> resolution;              // {B, 2}, pixels: height, width
  std::optional<Tensor> aspect_ratio;            // {B, 1}: height / width

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("encoder_attention_mask", self.encoder_attention_mask);
    v("resolution", self.resolution);
    v("aspect_ratio", self.aspect_ratio);
  }
};

// The diffusion transformer of PixArt-Alpha and PixArt-Sigma (Chen et al. 2023, arXiv 2310.00426;
// 2024, arXiv 2403.04692; diffusers pixart_transformer_2d.py).
class PixArtTransformer2DModel final : public nn::Transformer<PixArtInput, PixArtContext> {
 public:
  PixArtTransformer2DModel(const PixArtTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "PixArtTransformer2DModel"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override;
  std::array<int64_t, 2> sample_size() const override {
    return {config_.sample_size, config_.sample_size};
  }
  int64_t context_dim() const override {
    return config_.caption_channels.value_or(config_.cross_attention_dim);
  }

  // Channels of all that the checkpoint predicts, a variance included.
  int64_t predicted_channels() const { return config_.predicted_channels(); }
  int64_t patch_size() const { return config_.patch_size; }
  // Whether size and aspect ratio of the image are inputs.
  bool takes_size() const { return config_.takes_size(); }

  nn::PatchEmbed pos_embed;
  nn::ModuleList<PixArtTransformerBlock> transformer_blocks;
  nn::LayerNorm norm_out;
  Param scale_shift_table;  // {2, D}: shift and scale of the last norm
  nn::Linear proj_out;
  nn::AdaLayerNormSingle adaln_single;
  std::optional<nn::PixArtAlphaTextProjection> caption_projection;

 private:
  std::vector<nn::NetworkInput> own_inputs() const override {
    return nn::required_where(config_.takes_size(), {"resolution", "aspect_ratio"},
                              nn::input_names<PixArtInput>());
  }
  Trunk enter(Context& cx, const PixArtInput& input) const override;
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const PixArtContext& call) const override;
  // Of all that the checkpoint predicts, the noise alone: the reference's pipelines ignore the
  // variance of checkpoints with twice the latents' channels.
  Tensor leave(Context& cx, const Tensor& tokens, const PixArtContext& call) const override;

  PixArtContext context(Context& cx, const PixArtInput& input, const Tensor& modulation) const;

  PixArtTransformer2DConfig config_;
};

const nn::NetworkInfo& pixart_transformer_2d_model_info();
// The same class by the name that published checkpoints have it under. Throws Unsupported for the
// other networks that went by that name.
const nn::NetworkInfo& transformer_2d_model_info();

}  // namespace omnirt
