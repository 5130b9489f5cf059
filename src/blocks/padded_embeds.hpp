#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace omnirt::blocks {

// Embeddings of prompts of several lengths, one row per image.
struct PaddedEmbeds {
  Tensor embeds;  // {images, T, D}: zeros after what is shorter
  Tensor mask;    // {images, T}: 1 where there is a token; undefined where all are as long
  // The mask, of ones where all are as long.
  Tensor whole_mask() const;
};

// `states` gives a prompt's embeddings, {1, T, D}. No prompt means the empty one; a prompt's images
// are adjacent.
PaddedEmbeds padded_embeds(const std::vector<std::string>& prompts, size_t images,
                           const std::function<Tensor(const std::string&)>& states);

}  // namespace omnirt::blocks
