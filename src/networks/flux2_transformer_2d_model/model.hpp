#pragma once
#include <memory>
#include <optional>

#include "networks/flux2_transformer_2d_model/blocks.hpp"
#include "nn/optional_inputs.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

// Tokens of reference images of a model that was made to keep their keys and values: they see each
// other alone and are modulated as of timestep 0, so that no step changes them (diffusers
// Flux2KVAttnProcessor). Rows that are alike are there once.
struct Flux2KeptReferences {
  nn::DistinctRows latents;  // {B, N, C}
  nn::DistinctRows ids;      // {B, N, 4}: their positions, all rows alike

  static void visit(auto& self, auto& v) {
    v("kept_reference_latents", self.latents);
    v("kept_reference_ids", self.ids);
  }
};

struct Flux2Input {
  Tensor sample;                            // {B, C, H, W}: a token each
  Tensor timestep;                          // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;             // {B, T, joint_attention_dim}
  std::optional<Tensor> guidance;           // {B}: the guidance scale; where guidance_embeds
  std::optional<Tensor> reference_latents;  // {B, N, C}: tokens of reference images
  std::optional<Tensor> reference_ids;      // {B, N, 4}: their positions, all rows alike

  std::optional<Flux2KeptReferences> kept{};  // filled apart

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("guidance", self.guidance);
    v("reference_latents", self.reference_latents);
    v("reference_ids", self.reference_ids);
  }
};

// What the blocks of a call share.
struct Flux2Call {
  Tensor activated;                             // {B, D}: SiLU of the embedded timestep
  std::vector<Flux2ModulationSet> image, text;  // of transformer_blocks
  Flux2ModulationSet single;                    // of single_transformer_blocks
  Tensor rotary;                                // {2, T + L, head_dim / 2}
  std::unique_ptr<nn::KeptTokens> references;   // null: none are kept
  int64_t height, width;                        // tokens
};

// FLUX.2's diffusion transformer (diffusers transformer_flux2.py): blocks that keep text and image
// apart except in attention, then blocks over both.
class Flux2Transformer2DModel final : public nn::Transformer<Flux2Input, Flux2Call> {
 public:
  Flux2Transformer2DModel(const Flux2Transformer2DConfig& config, Json json);
  const char* class_name() const override { return "Flux2Transformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.predicted_channels(); }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  // Reference images have one list of positions for all rows.
  bool joins_runs(const Values& inputs) const override {
    return !inputs.contains("reference_ids") && !inputs.contains("kept_reference_ids");
  }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  bool predicts_attentions() const override { return true; }
  bool takes_guidance_scale() const override { return config_.guidance_embeds; }

  Flux2TimestepGuidanceEmbeddings time_guidance_embed;
  Flux2Modulation double_stream_modulation_img;
  Flux2Modulation double_stream_modulation_txt;
  Flux2Modulation single_stream_modulation;
  nn::Linear x_embedder;
  nn::Linear context_embedder;
  nn::ModuleList<Flux2TransformerBlock> transformer_blocks;
  nn::ModuleList<Flux2SingleTransformerBlock> single_transformer_blocks;
  Flux2NormOut norm_out;
  nn::Linear proj_out;

 private:
  std::vector<nn::NetworkInput> own_inputs() const override {
    return nn::with_optional_inputs<Flux2KeptReferences>(
        nn::only_where(config_.guidance_embeds, {"guidance"}, nn::input_names<Flux2Input>()));
  }
  Flux2Input read(Context& cx, Values& inputs) const override {
    return nn::fill_inputs_with(cx, inputs, &Flux2Input::kept);
  }
  Trunk enter(Context& cx, const Flux2Input& input) const override;
  std::optional<size_t> joined_from() const override { return transformer_blocks.size(); }
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const Flux2Call& call) const override;
  Tensor leave(Context& cx, const Tensor& tokens, const Flux2Call& call) const override;

  nn::TokenStream embedded(Context& cx, const Flux2Input& input) const;
  Tensor rotary(Context& cx, const Flux2Input& input) const;
  // SiLU of the embedded timestep {B} and guidance, {B, D}.
  Tensor activated(Context& cx, const Tensor& timestep, const Tensor* guidance) const;
  // What modulates reference images that are kept, of blocks of either kind, {1, ...}.
  Tensor reference_modulation(Context& cx, const Flux2Input& input,
                              const Flux2Modulation& of) const;
  // Reference images that are kept, by blocks of either kind one after the other; null: none are.
  std::unique_ptr<nn::KeptTokens> references(Context& cx, const Flux2Input& input) const;

  Flux2Transformer2DConfig config_;
};

const nn::NetworkInfo& flux2_transformer_2d_model_info();

}  // namespace omnirt
