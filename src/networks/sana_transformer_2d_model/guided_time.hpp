#pragma once
#include "nn/blocks/pixart_embeddings.hpp"

namespace omnirt {

// The timestep and the guidance scale, in place of AdaLayerNormSingle (diffusers
// sana_transformer.py SanaCombinedTimestepGuidanceEmbeddings).
class SanaGuidedTime final : public nn::Module {
 public:
  SanaGuidedTime(Module* parent, const std::string& name, int64_t dim);
  const char* class_name() const override { return "SanaCombinedTimestepGuidanceEmbeddings"; }
  // timestep and guidance {B}.
  nn::AdaLayerNormSingle::Result forward(Context& cx, const Tensor& timestep,
                                         const Tensor& guidance) const;

  nn::TimestepEmbedding timestep_embedder, guidance_embedder;
  nn::Linear linear;
};

}  // namespace omnirt
