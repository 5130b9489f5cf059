#include "nn/blocks/image_prompts.hpp"

#include <algorithm>

#include "base/ensure.hpp"

namespace omnirt::nn {
namespace {

// Null for everywhere.
const Tensor* mask_of(const ImagePrompts::Prompt& prompt, int64_t tokens) {
  auto whole = [](const Tensor& mask) { return mask.size(1) == 1; };
  if (std::ranges::all_of(prompt.masks, whole)) return nullptr;
  auto it = std::ranges::find_if(prompt.masks,
                                 [&](const Tensor& mask) { return mask.size(1) == tokens; });
  ensure(it != prompt.masks.end(), "no mask of an image prompt has {} tokens", tokens);
  return &*it;
}

}  // namespace

Tensor ImagePrompts::attended(Context& cx, const std::string& layer, const Tensor& query, Tensor y,
                              int64_t heads, double scale) const {
  auto found = layers_.find(layer);
  if (found == layers_.end()) return y;
  for (const Prompt& prompt : found->second) {
    Tensor seen = cx.ops().attention(cx, {query, prompt.key, prompt.value, heads, scale});
    const Tensor* mask = mask_of(prompt, query.size(1));
    y = mask ? cx.ops().gate(cx, {seen, *mask, &y}) : cx.ops().add(cx, {y, seen});
  }
  return y;
}

}  // namespace omnirt::nn
