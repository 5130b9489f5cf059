#include "nn/blocks/grid_positions.hpp"

#include "nn/layout.hpp"

namespace omnirt::nn {

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
