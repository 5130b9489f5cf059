#pragma once
#include <optional>
#include <vector>

#include "networks/clip_vision_model/config.hpp"
#include "nn/blocks/clip_encoder.hpp"
#include "nn/network.hpp"

namespace omnirt {

class CLIPVisionEmbeddings final : public nn::Module {
 public:
  CLIPVisionEmbeddings(Module* parent, const std::string& name, const CLIPVisionConfig& config);
  const char* class_name() const override { return "CLIPVisionEmbeddings"; }
  // {B, C, S, S} -> {B, 1 + patches, D}: a token for the whole, then the patches row by row, and
  // their positions.
  Tensor forward(Context& cx, const Tensor& pixel_values) const;

  Param class_embedding;  // {D}
  nn::Conv2d patch_embedding;
  nn::Embedding position_embedding;
};

struct CLIPVisionOptions {
  bool hidden_states = false;  // fill CLIPVisionOutput::hidden_states
};

struct CLIPVisionOutput {
  std::vector<Tensor> hidden_states;  // the embeddings, normalised, and each layer's output
  Tensor last_hidden_state;           // {B, 1 + patches, D}: the last layer's output
  Tensor pooled;                      // {B, D}: the whole's token of it, normalised
  Tensor image_embeds;  // {B, projection_dim}: pooled, projected; undefined without a projection
};

// The image encoder of CLIP (Radford et al. 2021, arXiv 2103.00020; transformers modeling_clip.py),
// with the projection to the space that it shares with texts or without.
class CLIPVisionModel final : public nn::Network {
 public:
  enum class Projection { with, without };
  CLIPVisionModel(const CLIPVisionConfig& config, Projection projection, Json json);
  const char* class_name() const override;
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override;

  // pixel_values {B, num_channels, image_size, image_size}, as the folder's feature extractor
  // prepares images. Throws InvalidRequest for another size.
  CLIPVisionOutput forward(Context& cx, const Tensor& pixel_values,
                           const CLIPVisionOptions& options = {}) const;
  // {B, 1 + patches, D}: the output of the layer before the last, which alone is not computed.
  Tensor penultimate(Context& cx, const Tensor& pixel_values) const;

  int64_t image_size() const { return config_.image_size; }
  int64_t hidden_size() const { return config_.hidden_size; }
  int64_t projection_dim() const { return config_.projection_dim; }
  // The token for the whole image included.
  int64_t tokens() const { return embeddings.position_embedding.weight.shape[0]; }

  CLIPVisionEmbeddings embeddings;
  nn::LayerNorm pre_layrnorm;  // sic, as in checkpoints
  nn::CLIPEncoder encoder;
  nn::LayerNorm post_layernorm;
  std::optional<nn::Linear> visual_projection;

 private:
  Tensor embedded(Context& cx, const Tensor& pixel_values) const;
  CLIPVisionConfig config_;
};

const nn::NetworkInfo& clip_vision_model_info();
const nn::NetworkInfo& clip_vision_model_with_projection_info();

}  // namespace omnirt
