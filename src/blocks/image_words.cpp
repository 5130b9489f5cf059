#include "blocks/image_words.hpp"

#include <fmt/format.h>

namespace omnirt::blocks {

std::string IdsWithImages::key() const {
  std::string made = "images";
  for (const nn::ImageSpan& span : spans) made += fmt::format(" {}+{}", span.first, span.tokens);
  return made;
}

IdsWithImages with_images(const std::vector<int64_t>& words, int64_t image_id,
                          const Tensor& counts) {
  IdsWithImages made;
  for (int64_t id : words) {
    const auto image = static_cast<int64_t>(made.spans.size());
    if (id != image_id || image == counts.numel()) {
      made.ids.push_back(id);
      continue;
    }
    const auto tokens = counts[image].item<int64_t>();
    made.spans.push_back({static_cast<int64_t>(made.ids.size()), tokens});
    made.ids.insert(made.ids.end(), static_cast<size_t>(tokens), id);
  }
  return made;
}

}  // namespace omnirt::blocks
