#pragma once
#include <vector>

#include "nn/layers.hpp"

namespace omnirt::nn {

struct ControlEmbeddingOptions {
  int64_t in = 3;                 // of the control image
  std::vector<int64_t> channels;  // of each level; between two the sides are halved
  int64_t out = 0;
};

// A control image made as large as the latents: convolutions, each but the last activated by SiLU
// (diffusers controlnet.py ControlNetConditioningEmbedding).
class ControlNetConditioningEmbedding final : public Module {
 public:
  ControlNetConditioningEmbedding(Module* parent, const std::string& name,
                                  const ControlEmbeddingOptions& options);
  const char* class_name() const override { return "ControlNetConditioningEmbedding"; }
  // {B, in, H scale, W scale} -> {B, out, H, W}.
  Tensor forward(Context& cx, const Tensor& conditioning) const;
  // Pixels of the control image per side of one of the result.
  int64_t scale() const { return int64_t{1} << (blocks.size() / 2); }

  Conv2d conv_in;
  ModuleList<Conv2d> blocks;
  Conv2d conv_out;
};

}  // namespace omnirt::nn
