#pragma once
#include <optional>

#include "nn/blocks/time_embedding.hpp"

namespace omnirt::nn {

struct TimeTextEmbeddingOptions {
  int64_t pooled = 0;     // width of what the prompt means as a whole
  int64_t out = 0;        // of the result
  bool guidance = false;  // in models that were distilled of guided ones
};

// Timestep, the prompt as a whole and, where the network takes it, guidance scale (diffusers
// embeddings.py CombinedTimestepTextProjEmbeddings, CombinedTimestepGuidanceTextProjEmbeddings).
class TimeTextEmbedding final : public Module {
 public:
  TimeTextEmbedding(Module* parent, const std::string& name,
                    const TimeTextEmbeddingOptions& options);
  const char* class_name() const override { return "CombinedTimestepTextProjEmbeddings"; }
  // timestep {B}, 0..1000; guidance {B}, a scale, or null; pooled {B, P}. {B, D}.
  Tensor forward(Context& cx, const Tensor& timestep, const Tensor* guidance,
                 const Tensor& pooled) const;

  TimestepEmbedding timestep_embedder;
  std::optional<TimestepEmbedding> guidance_embedder;
  TimestepEmbedding text_embedder;  // of the same two layers
};

}  // namespace omnirt::nn
