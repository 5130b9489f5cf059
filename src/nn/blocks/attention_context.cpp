#include "nn/blocks/attention_context.hpp"

#include "base/ensure.hpp"

namespace omnirt::nn {

std::array<int64_t, 2> half_grid(const std::array<int64_t, 2>& grid) {
  return {(grid[0] + 1) / 2, (grid[1] + 1) / 2};
}

Tensor weights_of(const AttentionContext& context, int64_t source) {
  std::array<int64_t, 2> grid = context.largest_grid;
  int64_t offset = 0;
  while (grid != context.grid && grid[0] * grid[1] > 1) {
    offset += grid[0] * grid[1];
    grid = half_grid(grid);
  }
  ensure(grid == context.grid, "entities have no weights for a grid of {}x{}", context.grid[0],
         context.grid[1]);
  return context.entity_weights.select(1, source).narrow(1, offset, grid[0] * grid[1]).unsqueeze(2);
}

}  // namespace omnirt::nn
