#pragma once
#include <optional>

#include "nn/layers.hpp"

namespace omnirt::nn {

struct TimestepEmbeddingOptions {
  int64_t in = 0;
  int64_t out = 0;     // width between the two layers, and of the result
  int64_t result = 0;  // width of the result where it is another; 0: as out
  int64_t cond = 0;    // width of a further condition (of guidance, in distilled models); 0: none
  ops::Activation activation = ops::Activation::silu;
  ops::Activation post_activation = ops::Activation::none;
  bool bias = true;  // of the two layers
};

// The perceptron that timestep embeddings go through (diffusers embeddings.py TimestepEmbedding).
class TimestepEmbedding final : public Module {
 public:
  TimestepEmbedding(Module* parent, const std::string& name,
                    const TimestepEmbeddingOptions& options);
  const char* class_name() const override { return "TimestepEmbedding"; }
  // sample {B, in}; cond {B, cond} or null; {B, out} or {B, result}.
  Tensor forward(Context& cx, const Tensor& sample, const Tensor* cond) const;
  // numbers {B}, as `in` cosines and sines of them (flip_sin_to_cos, no shift of frequencies).
  Tensor embed(Context& cx, const Tensor& numbers) const;

  Linear linear_1;
  std::optional<Linear> cond_proj;
  Linear linear_2;

 private:
  TimestepEmbeddingOptions options_;
};

}  // namespace omnirt::nn
