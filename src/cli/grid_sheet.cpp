#include "cli/grid_sheet.hpp"

#include <algorithm>

#include "base/ensure.hpp"
#include "io/image_caption.hpp"
#include "io/image_fit.hpp"

namespace omnirt::cli {
namespace {

constexpr int64_t gap = 8;
constexpr int64_t least_label_width = 96, most_label_width = 192;

io::Image white(int64_t width, int64_t height) {
  io::Image image = io::Image::zeros(width, height, 3);
  std::ranges::fill(image.pixels, uint8_t{255});
  return image;
}

// All labels of one side, of equal height; empty for an axis that the grid has not.
std::vector<io::Image> strips(const std::vector<std::string>& labels, int64_t width) {
  if (std::ranges::all_of(labels, &std::string::empty)) return {};
  const std::vector<io::Image> lines(labels.size(), white(width, 1));
  return io::with_captions(lines, labels);
}

struct Layout {
  int64_t cell_width, cell_height, columns, rows, blocks;
  std::vector<io::Image> left, top, over;
  int64_t head = 0;  // of a block: the labels over it and over its columns

  Layout(const GridLabels& labels, int64_t width, int64_t height)
      : cell_width(width),
        cell_height(height),
        columns(static_cast<int64_t>(labels.x.size())),
        rows(static_cast<int64_t>(labels.y.size())),
        blocks(static_cast<int64_t>(labels.z.size())),
        left(strips(labels.y, std::clamp(width, least_label_width, most_label_width))),
        top(strips(labels.x, width)),
        over(strips(labels.z, columns * (width + gap) - gap)) {
    if (!left.empty()) cell_height = std::max(cell_height, left.front().height);
    for (const auto* labels_above : {&over, &top})
      head += labels_above->empty() ? 0 : labels_above->front().height + gap;
  }

  int64_t x_of(int64_t column) const {
    return gap + (left.empty() ? 0 : left.front().width + gap) + column * (cell_width + gap);
  }
  int64_t block_height() const { return head + rows * (cell_height + gap); }
  int64_t top_of(int64_t block) const { return gap + block * block_height(); }
  int64_t y_of(int64_t block, int64_t row) const {
    return top_of(block) + head + row * (cell_height + gap);
  }
  GridSize size() const { return {x_of(columns), gap + blocks * block_height()}; }
};

void paste_centred(io::Image& sheet, const io::Image& image, int64_t x, int64_t y, int64_t width,
                   int64_t height) {
  io::paste(sheet, image, x + (width - image.width) / 2, y + (height - image.height) / 2);
}

void draw_block(io::Image& sheet, const Layout& layout, int64_t block) {
  int64_t y = layout.top_of(block);
  if (!layout.over.empty()) {
    const io::Image& title = layout.over[static_cast<size_t>(block)];
    io::paste(sheet, title, layout.x_of(0), y);
    y += title.height + gap;
  }
  for (size_t i = 0; i < layout.top.size(); ++i)
    io::paste(sheet, layout.top[i], layout.x_of(static_cast<int64_t>(i)), y);
  for (size_t i = 0; i < layout.left.size(); ++i) {
    const io::Image& label = layout.left[i];
    paste_centred(sheet, label, gap, layout.y_of(block, static_cast<int64_t>(i)), label.width,
                  layout.cell_height);
  }
}

}  // namespace

GridSize grid_size(const GridLabels& labels, int64_t cell_width, int64_t cell_height) {
  return Layout(labels, cell_width, cell_height).size();
}

io::Image draw_grid(const GridLabels& labels, const std::vector<io::Image>& cells) {
  ensure(!cells.empty() && cells.size() == labels.cells(), "{} images for {} cells", cells.size(),
         labels.cells());
  const Layout layout(labels, std::ranges::max(cells, {}, &io::Image::width).width,
                      std::ranges::max(cells, {}, &io::Image::height).height);
  const GridSize size = layout.size();
  io::Image sheet = white(size.width, size.height);
  for (int64_t block = 0; block < layout.blocks; ++block) draw_block(sheet, layout, block);
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto place = static_cast<int64_t>(i);
    const int64_t column = place % layout.columns, row = place / layout.columns % layout.rows;
    const int64_t block = place / (layout.columns * layout.rows);
    paste_centred(sheet, io::to_rgb(cells[i]), layout.x_of(column), layout.y_of(block, row),
                  layout.cell_width, layout.cell_height);
  }
  return sheet;
}

}  // namespace omnirt::cli
