#pragma once
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt::blocks {

// Embeddings of prompts of several lengths, one row per image.
struct PaddedEmbeds {
  Tensor embeds;  // {images, T, D}: zeros after what is shorter
  Tensor mask;    // {images, T}: 1 where there is a token; undefined where all are as long
};

// each {1, T, D}, by prompts; a prompt's images are adjacent.
PaddedEmbeds padded_embeds(std::vector<Tensor> each, size_t images);

}  // namespace omnirt::blocks
