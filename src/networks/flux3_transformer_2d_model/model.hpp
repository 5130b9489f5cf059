#pragma once
#include <optional>

#include "networks/flux3_transformer_2d_model/blocks.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct Flux3Input {
  Tensor sample;                            // {B, C, H, W}: a token each
  Tensor timestep;                          // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;             // {B, T, joint_attention_dim}
  std::optional<Tensor> target_timestep;    // {B} or {1}, 0..1000; where flow_map
  std::optional<Tensor> reference_latents;  // {B, N, C}: tokens of reference images
  std::optional<Tensor> reference_ids;      // {B, N, 4}: their positions, all rows alike

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("target_timestep", self.target_timestep);
    v("reference_latents", self.reference_latents);
    v("reference_ids", self.reference_ids);
  }
};

// What the blocks of a call share.
struct Flux3Call {
  Tensor activated;          // {B, D}: SiLU of the image's embedded timestep
  Flux3ModulationSet image;  // of its own blocks
  Flux3ModulationSet single_text, single, single_references;  // of blocks over all
  Tensor rotary_image, rotary_all;                            // {2, tokens, head_dim / 2}
  int64_t height, width;                                      // tokens
};

// FLUX.3's diffusion transformer (diffusers transformer_flux3.py): blocks over the image's tokens,
// the reference images' and the text's apart, then blocks over all. Text and reference images are
// at timestep 0 throughout.
class Flux3Transformer2DModel final : public nn::Transformer<Flux3Input, Flux3Call> {
 public:
  // Between the positions of an image's rows, and of its columns (diffusers
  // Flux3PrepareLatentsStep.image_rope_scale).
  static constexpr double image_rope_scale = 0.5;

  Flux3Transformer2DModel(const Flux3Transformer2DConfig& config, Json json);
  const char* class_name() const override { return "Flux3Transformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.in_channels; }
  int64_t reference_channels() const { return config_.cond_in_channels; }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  int64_t context_dim() const override { return config_.joint_attention_dim; }
  // Whether it was distilled to a few steps, and is told where each ends.
  bool flow_map() const { return config_.flow_map; }

  nn::TimestepEmbedding timestep_embedder;
  std::optional<nn::TimestepEmbedding> target_timestep_embedder;
  Flux3Modulations early_stream_modulations, single_stream_modulations;
  Flux3Embedders x_embedders;
  nn::Linear context_embedder;
  Flux3ModeBlocks mode_blocks;
  nn::ModuleList<Flux3ModeTransformerBlock> txt_mode_blocks;
  nn::ModuleList<Flux3SingleTransformerBlock> single_transformer_blocks;
  Flux3AdaLayerNorm norm_out;
  nn::Linear proj_out;

 private:
  std::vector<nn::NetworkInput> own_inputs() const override {
    return nn::required_where(config_.flow_map, {"target_timestep"}, nn::input_names<Flux3Input>());
  }
  Trunk enter(Context& cx, const Flux3Input& input) const override;
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const Flux3Call& call) const override;
  Tensor leave(Context& cx, const Tensor& tokens, const Flux3Call& call) const override;

  // SiLU of the embedded timesteps, {B or 1, D}: of the image, and of all that is at 0.
  struct Times {
    Tensor image, rest;
  };
  // {2, tokens, head_dim / 2}: of each kind of tokens, and of all: text, image, reference images.
  struct Places {
    Tensor text, image, references, all;
  };
  Times times(Context& cx, const Flux3Input& input) const;
  Places places(Context& cx, const Flux3Input& input) const;
  Tensor texts(Context& cx, const Flux3Input& input, const Times& at, const Places& where) const;
  Tensor references(Context& cx, const Flux3Input& input, const Times& at,
                    const Places& where) const;

  Flux3Transformer2DConfig config_;
};

const nn::NetworkInfo& flux3_transformer_2d_model_info();

}  // namespace omnirt
