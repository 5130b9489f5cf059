#pragma once
#include "networks/siglip2_vision_model/config.hpp"
#include "nn/blocks/clip_encoder.hpp"
#include "nn/blocks/siglip_encoder.hpp"
#include "nn/blocks/vision_parts.hpp"
#include "nn/network.hpp"

namespace omnirt {

// An image as SigLIP2 takes it: no padding.
struct Siglip2Image {
  Tensor patches;  // {1, N, patch * patch * 3}, row by row
  nn::GridPositions at;
};

class Siglip2VisionEmbeddings final : public nn::Module {
 public:
  Siglip2VisionEmbeddings(Module* parent, const std::string& name,
                          const Siglip2VisionConfig& config);
  const char* class_name() const override { return "Siglip2VisionEmbeddings"; }
  // {1, N, D}.
  Tensor forward(Context& cx, const Siglip2Image& image) const;

  nn::Linear patch_embedding;
  nn::Embedding position_embedding;
};

// The image encoder of SigLIP2 that keeps an image's proportions (Tschannen et al. 2025, arXiv
// 2502.14786; transformers modeling_siglip2.py), without the head that pools.
class Siglip2VisionModel final : public nn::Network {
 public:
  Siglip2VisionModel(const Siglip2VisionConfig& config, Json json);
  const char* class_name() const override { return "Siglip2VisionModel"; }
  nn::Metadata metadata() const override;
  nn::WeightMap weight_map() const override { return nn::siglip_weight_map(); }

  // last_hidden_state {1, N, D}, normalised.
  Tensor forward(Context& cx, const Siglip2Image& image) const;

  int64_t hidden_size() const { return config_.hidden_size; }
  const Siglip2VisionConfig& config() const { return config_; }

  Siglip2VisionEmbeddings embeddings;
  nn::CLIPEncoder encoder;
  nn::LayerNorm post_layernorm;

 private:
  Siglip2VisionConfig config_;
};

const nn::NetworkInfo& siglip2_vision_model_info();

}  // namespace omnirt
