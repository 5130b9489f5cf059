#pragma once
#include "nn/blocks/z_image_blocks.hpp"
#include "nn/denoiser_network.hpp"

namespace omnirt {

struct ZImageInput {
  Tensor sample;                 // {B, C, H, W}
  Tensor timestep;               // {B} or {1}, 0..1000: how much of the sample is noise
  Tensor encoder_hidden_states;  // {B, T, cap_feat_dim}: tokens alone, no padding
  // {B, L + T, dim} for each of the first blocks, both padded; {B, 0, dim}: nothing for this one.
  std::vector<Tensor> controlnet_block_samples;

  static void visit(auto& self, auto& v) {
    v("sample", self.sample);
    v("timestep", self.timestep);
    v("encoder_hidden_states", self.encoder_hidden_states);
    v("controlnet_block_samples", self.controlnet_block_samples);
  }
};

// Z-Image's diffusion transformer (Z-Image Team 2025, arXiv 2511.22699; diffusers
// transformer_z_image.py): one stream of an image's and a text's tokens, each of which goes through
// blocks of its own before.
class ZImageTransformer2DModel final : public nn::DenoiserNetwork {
 public:
  ZImageTransformer2DModel(const ZImageTransformer2DConfig& config, Json json);
  const char* class_name() const override { return "ZImageTransformer2DModel"; }
  nn::Metadata metadata() const override;
  std::vector<nn::OriginalLayout> original_layouts() const override;

  // Noise minus image, {B, C, H, W}: as the reference's pipelines hand it to the scheduler.
  Tensor predict(Context& cx, const Values& inputs) const override;
  std::vector<nn::NetworkInput> inputs() const override { return nn::input_names<ZImageInput>(); }

  int64_t in_channels() const override { return config_.in_channels; }
  int64_t out_channels() const override { return config_.in_channels; }
  std::array<int64_t, 2> sample_size() const override { return {0, 0}; }
  bool caches_blocks() const override { return !layers.empty(); }
  int64_t context_dim() const override { return config_.cap_feat_dim; }
  int64_t token_dim() const { return config_.dim; }
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
  Param x_pad_token, cap_pad_token;
  nn::ModuleList<nn::ZImageTransformerBlock> layers;

 private:
  // The positions of tokens, as ops::Rotary takes them.
  struct Places {
    Tensor text, image, all;
  };
  Places places(Context& cx, const ZImageInput& input) const;
  Tensor text_positions(Context& cx, const Tensor& like, int64_t text) const;
  Tensor image_positions(Context& cx, const ZImageInput& input) const;
  Tensor table(Context& cx, const Tensor& positions) const;
  // With `token` after x, up to a multiple of SEQ_MULTI_OF.
  Tensor filled_up(Context& cx, const Tensor& x, const Param& token) const;
  Tensor refined_text(Context& cx, const ZImageInput& input, const Tensor& rotary) const;
  Tensor refined(Context& cx, const Tensor& image, const Tensor& embedded, const Tensor& rotary,
                 const std::vector<Tensor>& hints) const;
  Tensor embedded_image(Context& cx, const ZImageInput& input) const;
  Tensor embedded_time(Context& cx, const ZImageInput& input) const;
  // `all` {B, L + T, dim}: the image's tokens and the text's.
  Tensor through_layers(Context& cx, Tensor all, const Tensor& embedded, const Tensor& rotary,
                        const std::vector<Tensor>& hints) const;
  Tensor patches(Context& cx, const ZImageInput& input) const;

  ZImageTransformer2DConfig config_;
};

const nn::NetworkInfo& z_image_transformer_2d_model_info();

}  // namespace omnirt
