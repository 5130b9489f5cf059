#pragma once
#include "networks/lumina2_transformer_2d_model/blocks.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

struct Lumina2Input {
  Tensor sample;                 // {B, C, H, W}
  Tensor timestep;               // {B} or {1}, 0..1000: how much of the sample is noise
  Tensor encoder_hidden_states;  // {B, T, cap_feat_dim}: tokens alone, no padding

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
  }
};

// What the blocks of a call share.
struct Lumina2Call {
  Tensor activated;       // {B, D}: SiLU of the embedded timestep
  Tensor rotary;          // {2, T + L, head_dim / 2}
  int64_t height, width;  // tokens
};

// Lumina-Image 2.0's diffusion transformer (Qin et al. 2025, arXiv 2503.21758; diffusers
// transformer_lumina2.py): one stream of a text's and an image's tokens, each of which goes through
// blocks of its own before.
class Lumina2Transformer2DModel final : public nn::Transformer<Lumina2Input, Lumina2Call> {
 public:
  Lumina2Transformer2DModel(const Lumina2Transformer2DConfig& config, Json json);
  const char* class_name() const override { return "Lumina2Transformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.channels_out(); }
  std::array<int64_t, 2> sample_size() const override {
    return {config_.sample_size, config_.sample_size};
  }
  int64_t context_dim() const override { return config_.cap_feat_dim; }
  // Latents of a token, a side.
  int64_t patch_size() const { return config_.patch_size; }
  // How many positions there are in the text and after it, for rows, and for columns.
  const std::vector<int64_t>& axes_lens() const { return config_.axes_lens; }

  nn::Linear x_embedder;
  Lumina2Embedding time_caption_embed;
  nn::ModuleList<Lumina2TransformerBlock> noise_refiner, context_refiner, layers;
  Lumina2NormOut norm_out;

 private:
  Trunk enter(Context& cx, const Lumina2Input& input) const override;
  std::optional<size_t> joined_from() const override { return 0; }
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const Lumina2Call& call) const override;
  // Noise minus image, {B, C, H, W}: as the reference's pipeline hands it to the scheduler.
  Tensor leave(Context& cx, const Tensor& tokens, const Lumina2Call& call) const override;

  // The positions of tokens, as ops::Rotary takes them.
  struct Places {
    Tensor text, image, all;
  };
  Places places(Context& cx, const Lumina2Input& input) const;
  Tensor refined_text(Context& cx, const Lumina2Input& input, const Tensor& rotary) const;
  // silu of the embedded timestep.
  Tensor activated_time(Context& cx, const Lumina2Input& input) const;

  Lumina2Transformer2DConfig config_;
};

const nn::NetworkInfo& lumina2_transformer_2d_model_info();

}  // namespace omnirt
