#pragma once
#include "nn/layers.hpp"

namespace omnirt::nn {

// Tokens of an image's embedding (diffusers embeddings.py ImageProjection).
class ImageProjection final : public Module {
 public:
  struct Sizes {
    int64_t image_embed_dim, num_tokens, cross_attention_dim;
  };
  ImageProjection(Module* parent, const std::string& name, const Sizes& sizes);
  const char* class_name() const override { return "ImageProjection"; }
  // {B, image_embed_dim} -> {B, num_tokens, cross_attention_dim}.
  Tensor forward(Context& cx, const Tensor& image_embeds) const;

  Linear proj;
  LayerNorm norm;

 private:
  int64_t tokens_;
};

}  // namespace omnirt::nn
