#pragma once
#include <string>
#include <vector>

#include "io/image.hpp"

namespace omnirt::cli {

// Labels of a grid; an axis that a grid has not has one empty label.
struct GridLabels {
  std::vector<std::string> x, y, z;
  size_t cells() const { return x.size() * y.size() * z.size(); }
};

struct GridSize {
  int64_t width = 0, height = 0;
};

// What the grid of cells of this size takes, in pixels.
GridSize grid_size(const GridLabels& labels, int64_t cell_width, int64_t cell_height);

// Columns by x, rows by y, and one such block under the other by z, with labels over columns, left
// of rows and over blocks. Cells are in the order of x, then y, then z, and centred where their
// sizes differ. `ensure`s one image per cell.
io::Image draw_grid(const GridLabels& labels, const std::vector<io::Image>& cells);

}  // namespace omnirt::cli
