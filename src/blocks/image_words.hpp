#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "nn/blocks/image_spans.hpp"
#include "tensor/tensor.hpp"

namespace omnirt::blocks {

// The ids of a prompt that looks at images, as Qwen's models read them.
struct IdsWithImages {
  std::vector<int64_t> ids{};
  std::vector<nn::ImageSpan> spans{};  // where each image's are

  // Of calls whose spans are in the same places.
  std::string key() const;
};

// `words` with each image's one id, `image_id`, repeated as often as that image has tokens,
// {images} int64; further ones stay as they are.
IdsWithImages with_images(const std::vector<int64_t>& words, int64_t image_id,
                          const Tensor& counts);

}  // namespace omnirt::blocks
