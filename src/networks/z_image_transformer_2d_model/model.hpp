#pragma once
#include <optional>

#include "nn/blocks/z_image_blocks.hpp"
#include "nn/optional_inputs.hpp"
#include "nn/transformer_network.hpp"

namespace omnirt {

// What Omni's edits go by: images, each with the text before it. The prompt is the text before the
// image that is made.
struct ZImageOmniInput {
  // {B, T, cap_feat_dim} each, tokens alone: before each image, and after all of them.
  std::vector<Tensor> captions;
  std::vector<Tensor> reference_latents;  // {B, C, h, w} each
  std::vector<Tensor> siglip_features;    // {B, N, siglip_feat_dim} each
  std::vector<Tensor> siglip_places;      // {B, N, 2} each: row and column among the latents

  static void visit(auto& self, auto& v) {
    v("captions", self.captions);
    v("reference_latents", self.reference_latents);
    v("siglip_features", self.siglip_features);
    v("siglip_places", self.siglip_places);
  }
};

// What the blocks of a call share.
struct ZImageCall {
  Tensor embedded;             // {B, modulation_dim}: the timestep
  Tensor references_embedded;  // the same of Omni's images to go by; undefined where there are none
  Tensor rotary;               // {2, tokens, head_dim / 2}
  int64_t height, width;       // tokens
};

struct ZImageInput {
  Tensor sample;                          // {B, C, H, W}
  Tensor timestep;                        // {B} or {1}, 0..1000: how much of the sample is noise
  Tensor encoder_hidden_states;           // {B, T, cap_feat_dim}: tokens alone, no padding
  std::optional<ZImageOmniInput> omni{};  // filled apart

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
  }
};

// Z-Image's diffusion transformer (Z-Image Team 2025, arXiv 2511.22699; diffusers
// transformer_z_image.py): one stream of an image's and a text's tokens, each of which goes through
// blocks of its own before.
class ZImageTransformer2DModel final : public nn::Transformer<ZImageInput, ZImageCall> {
 public:
  ZImageTransformer2DModel(const ZImageTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "ZImageTransformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // Those of the image's tokens and the text's, both padded; Omni's takes none.
  std::vector<nn::ResidualSite> residual_sites() const override {
    if (siglip_dim() > 0) return {};
    return {{"controlnet_block_samples", layers.size(), config_.dim, patch_size()}};
  }
  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.in_channels; }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  int64_t context_dim() const override { return config_.cap_feat_dim; }
  bool predicts_attentions() const override { return true; }
  int64_t token_dim() const { return config_.dim; }
  // Width of what it takes of SigLIP2; 0 where it is not Omni's.
  int64_t siglip_dim() const { return config_.siglip_feat_dim.value_or(0); }
  // Latents of a token, a side.
  int64_t patch_size() const { return ZImageTransformer2DConfig::patch_size; }
  // How many positions there are in the text and after it, for rows, and for columns.
  const std::vector<int64_t>& axes_lens() const { return config_.axes_lens; }
  // Tokens of a text are padded to a multiple of this (reference: SEQ_MULTI_OF).
  static int64_t padded(int64_t tokens);

  // What a ControlNet computes with, which has no such parts of its own (diffusers
  // ZImageControlNetModel.from_transformer), of `sample`, `timestep`, `encoder_hidden_states`:
  // `image` {B, L, dim} before the noise refiner and `text` {B, T, dim} after its own, both padded;
  // `embedded` {B, M}, the timestep; `image_rotary` and `rotary`, positions of the image and of
  // both.
  Values lent(Context& cx, const Values& inputs) const;
  // `image` after the noise refiner, {B, L, dim}, of `image`, `embedded` and `image_rotary` as
  // above; `hints`, if given, are added as controlnet_block_samples are.
  Tensor refined(Context& cx, const Values& inputs) const;

  nn::ZImageByPatch<nn::Linear> all_x_embedder;
  nn::ZImageByPatch<nn::ZImageFinalLayer> all_final_layer;
  nn::ModuleList<nn::ZImageTransformerBlock> noise_refiner, context_refiner;
  nn::ZImageTimestepEmbedder t_embedder;
  nn::ZImageCaptionEmbedder cap_embedder;
  // Of Omni's.
  std::optional<nn::ZImageCaptionEmbedder> siglip_embedder;
  nn::ModuleList<nn::ZImageTransformerBlock> siglip_refiner;
  Param siglip_pad_token;
  Param x_pad_token, cap_pad_token;
  nn::ModuleList<nn::ZImageTransformerBlock> layers;

 private:
  std::vector<nn::NetworkInput> own_inputs() const override;
  ZImageInput read(Context& cx, Values& inputs) const override {
    return nn::fill_inputs_with(cx, inputs, &ZImageInput::omni);
  }
  Trunk enter(Context& cx, const ZImageInput& input) const override;
  nn::TokenStream block(Context& cx, size_t i, nn::TokenStream x,
                        const ZImageCall& call) const override;
  // Noise minus image, {B, C, H, W}: as the reference's pipelines hand it to the scheduler.
  Tensor leave(Context& cx, const Tensor& tokens, const ZImageCall& call) const override;

  // The positions of tokens, as ops::Rotary takes them.
  struct Places {
    Tensor text, image, all;
  };
  Places places(Context& cx, const ZImageInput& input) const;
  // {T, 3}: `first` and on, row 0, column 0.
  Tensor text_positions(Context& cx, const Tensor& like, int64_t text, double first = 1) const;
  // {L, 3}: `place`, row, column; padding is at 0.
  Tensor image_positions(Context& cx, const Tensor& like, const Tensor& latents,
                         double place) const;
  Tensor image_positions(Context& cx, const ZImageInput& input) const;
  // {T, 3}, all 0.
  Tensor padding_positions(Context& cx, const Tensor& like, int64_t tokens) const;
  // With `token` after x, up to a multiple of SEQ_MULTI_OF.
  Tensor filled_up(Context& cx, const Tensor& x, const Param& token) const;
  Tensor refined_text(Context& cx, const ZImageInput& input, const Tensor& rotary) const;
  Tensor refined(Context& cx, const Tensor& image, const Tensor& embedded, const Tensor& rotary,
                 const std::vector<Tensor>& hints) const;
  // Its tokens, filled up, {B, L, dim}.
  Tensor embedded_latents(Context& cx, const Tensor& latents) const;
  Tensor embedded_image(Context& cx, const ZImageInput& input) const;
  Tensor embedded_time(Context& cx, const ZImageInput& input) const;
  Trunk entered(Context& cx, const ZImageInput& input) const;

  // Omni's call: texts, images and what SigLIP2 sees of these, of which the images to go by, with
  // the texts before them, are at the time of an image without noise (omni.cpp).
  struct OmniPlaces {
    Tensor captions{}, images{}, siglip{}, all{};
  };
  OmniPlaces omni_places(Context& cx, const ZImageInput& input) const;
  Tensor caption_positions(Context& cx, const ZImageInput& input) const;
  Tensor siglip_positions(Context& cx, const ZImageInput& input) const;
  Tensor refined_captions(Context& cx, const ZImageInput& input, const Tensor& rotary) const;
  Tensor refined_siglip(Context& cx, const ZImageInput& input, const Tensor& rotary) const;
  std::vector<nn::ZImagePart> omni_parts(Context& cx, const ZImageInput& input,
                                         const OmniPlaces& at) const;
  Trunk omni_entered(Context& cx, const ZImageInput& input) const;

  ZImageTransformer2DConfig config_;
};

const nn::NetworkInfo& z_image_transformer_2d_model_info();

}  // namespace omnirt
