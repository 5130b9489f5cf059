#pragma once
#include <optional>

#include "networks/qwen_image21_transformer_2d_model/blocks.hpp"
#include "nn/blocks/qwen_image_blocks.hpp"
#include "nn/optional_inputs.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

// Images to go by, whose latents are tokens after the text's: of all T + N of these the positions,
// and which of them each sees; and the positions of the sample's tokens. Rows that are alike are
// there once: all of a condition's go by the same images.
struct QwenImage21References {
  nn::DistinctRows latents;     // {B, N, C}
  nn::DistinctRows prefix_ids;  // {B, T + N, 3}, rows alike
  // {B, T + N, T + N}: 0 where a token does not see the other, which may be padding.
  nn::DistinctRows prefix_mask;
  nn::DistinctRows sample_ids;  // {B, L, 3}, rows alike

  static void visit(auto& self, auto& v) {
    v("reference_latents", self.latents);
    v("prefix_ids", self.prefix_ids);
    v("prefix_mask", self.prefix_mask);
    v("sample_ids", self.sample_ids);
  }
};

struct QwenImage21Input {
  Tensor sample;                                 // {B, C, H, W}: each latent a token
  nn::DistinctRows timestep;                     // {B} or {1}, 0..1000
  Tensor encoder_hidden_states;                  // {B, T, context_in_dim}
  std::optional<Tensor> encoder_attention_mask;  // {B, T}: 0 where a text has padding

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("encoder_attention_mask", self.encoder_attention_mask);
  }

  std::optional<QwenImage21References> references{};  // filled apart
};

// What the blocks of a call share.
struct QwenImage21Call {
  Tensor activated;  // {B, D}: SiLU of the embedded timestep
  QwenImage21Modulation by;
  QwenImage21Places at;                  // of the image's tokens
  std::unique_ptr<nn::KeptTokens> text;  // and of reference images
  int64_t height, width;
};

// Qwen-Image 2.1's diffusion transformer (diffusers transformer_qwenimage21.py): text and image as
// one sequence, of which each token sees those before it and an image's tokens each other.
class QwenImage21Transformer2DModel final
    : public nn::Transformer<QwenImage21Input, QwenImage21Call> {
 public:
  QwenImage21Transformer2DModel(const QwenImage21Transformer2DConfig& config, Json json);
  const char* class_name() const override { return "QwenImage21Transformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.predicted_channels(); }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  int64_t context_dim() const override { return config_.context_in_dim; }
  bool predicts_attentions() const override { return true; }

  nn::QwenTimestepProjEmbeddings time_text_embed;
  QwenImage21TextProjection txt_in;
  nn::Linear img_in;
  nn::ModuleList<nn::Linear> modulation;  // 0 is the activation
  nn::ModuleList<QwenImage21TransformerBlock> transformer_blocks;
  QwenImage21NormOut norm_out;
  nn::Linear proj_out;

 private:
  std::vector<nn::NetworkInput> own_inputs() const override {
    return nn::with_optional_inputs<QwenImage21References>(nn::input_names<QwenImage21Input>());
  }
  QwenImage21Input read(Context& cx, Values& inputs) const override {
    return nn::fill_inputs_with(cx, inputs, &QwenImage21Input::references);
  }
  Trunk enter(Context& cx, const QwenImage21Input& input) const override;
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const QwenImage21Call& call) const override;
  Tensor leave(Context& cx, const Tensor& tokens, const QwenImage21Call& call) const override;

  // {B, D}: SiLU of the embedded timestep.
  Tensor activated(Context& cx, const Tensor& timestep) const;
  // {T + L, 3}: the text's tokens one after the other, the image behind the last of them.
  Tensor positions(Context& cx, const QwenImage21Input& input) const;
  // {2, T or L, head_dim / 2}.
  Tensor rotary(Context& cx, const QwenImage21Input& input, bool of_image) const;
  // {B, T + N, D}: all before the image.
  Tensor prefix(Context& cx, const QwenImage21Input& input) const;
  Tensor prefix_bias(Context& cx, const nn::DistinctRows& mask) const;
  QwenImage21Places prefix_places(Context& cx, const QwenImage21Input& input) const;
  // before, image: tokens.
  QwenImage21Places image_places(Context& cx, const QwenImage21Input& input, const Tensor& before,
                                 const Tensor& image) const;
  // Of what is before the image: as of no timestep, or of the sample's.
  QwenImage21Modulation of_text(Context& cx, const QwenImage21Input& input,
                                const QwenImage21Modulation& of_sample) const;
  // The text of a call, and what images it has to go by, as they go through the blocks ahead of the
  // image that is made. Where they are modulated as of no timestep, they do so once per run.
  std::unique_ptr<nn::KeptTokens> ahead(Context& cx, const QwenImage21Input& input,
                                        const Tensor& tokens,
                                        const QwenImage21Modulation& by) const;

  QwenImage21Transformer2DConfig config_;
};

const nn::NetworkInfo& qwen_image21_transformer_2d_model_info();

}  // namespace omnirt
