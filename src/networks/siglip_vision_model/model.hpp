#pragma once
#include "networks/siglip_vision_model/config.hpp"
#include "nn/blocks/clip_encoder.hpp"
#include "nn/blocks/siglip_encoder.hpp"
#include "nn/network.hpp"

namespace omnirt {

class SiglipVisionEmbeddings final : public nn::Module {
 public:
  SiglipVisionEmbeddings(Module* parent, const std::string& name, const SiglipVisionConfig& config);
  const char* class_name() const override { return "SiglipVisionEmbeddings"; }
  // {B, 3, S, S} -> {B, patches, D}: row by row, with their positions.
  Tensor forward(Context& cx, const Tensor& pixel_values) const;

  nn::Conv2d patch_embedding;
  nn::Embedding position_embedding;
};

// The image encoder of SigLIP (Zhai et al. 2023, arXiv 2303.15343; transformers
// modeling_siglip.py), whose layers are CLIP's, without the head that pools.
class SiglipVisionModel final : public nn::Network {
 public:
  SiglipVisionModel(const SiglipVisionConfig& config, Json json);
  const char* class_name() const override { return "SiglipVisionModel"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override { return nn::siglip_weight_map(); }

  // last_hidden_state {B, patches, D}, normalised. pixel_values {B, 3, image_size, image_size}, as
  // the folder's feature extractor prepares images. Throws InvalidRequest for another size.
  Tensor forward(Context& cx, const Tensor& pixel_values) const;

  int64_t image_size() const { return config_.image_size; }
  int64_t hidden_size() const { return config_.hidden_size; }

  SiglipVisionEmbeddings embeddings;
  nn::CLIPEncoder encoder;
  nn::LayerNorm post_layernorm;

 private:
  SiglipVisionConfig config_;
};

const nn::NetworkInfo& siglip_vision_model_info();

}  // namespace omnirt
