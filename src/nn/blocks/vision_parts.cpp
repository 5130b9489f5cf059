#include "nn/blocks/vision_parts.hpp"

#include "nn/layout.hpp"

namespace omnirt::nn {

VisionHeads vision_heads(Context& cx, const Tensor& qkv, const Tensor& rotary, int64_t heads) {
  const int64_t patches = qkv.size(1), width = qkv.size(2) / 3;
  auto part = [&](int64_t i) { return qkv.narrow(2, i * width, width); };
  auto turned = [&](const Tensor& product) {
    const Tensor split = product.reshape({1, patches, heads, width / heads});
    return cx.ops().rotary(cx, {split, rotary, ops::RotaryPairs::halves}).flatten(2);
  };
  return {turned(part(0)), turned(part(1)), part(2).contiguous()};
}

Tensor with_grid_positions(Context& cx, const Tensor& x, const Embedding& grid,
                           const GridPositions& at) {
  Tensor h = x;
  const Tensor weights = in_form(cx, at.weights);
  for (int64_t i = 0; i < at.places.size(0); ++i) {
    const Tensor place = grid.forward(cx, at.places.select(0, i));
    h = cx.ops().gate(cx, {place, weights.select(0, i), &h});
  }
  return h;
}

}  // namespace omnirt::nn
