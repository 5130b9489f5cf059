#include "blocks/vision_patches.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <cmath>

#include "base/ensure.hpp"

namespace omnirt::blocks {
namespace {

// An image as patches, in squares of `merge` x `merge` of them.
class SquaredImage {
 public:
  SquaredImage(const Tensor& pixels, int64_t patch, int64_t merge)
      : rows(pixels.size(2) / patch),
        columns(pixels.size(3) / patch),
        pixels_(pixels),
        patch_(patch),
        merge_(merge) {
    ensure(rows > 0 && columns > 0 && rows % merge == 0 && columns % merge == 0,
           "{}x{} pixels are no whole squares of patches", pixels.size(3), pixels.size(2));
  }

  // {rows * columns, channels * frames * patch * patch}: squares row by row, and each square's
  // patches row by row; each frame is the image.
  Tensor patches(int64_t frames) const {
    // {rows of squares, columns of squares, row, column, channel, pixel row, pixel column}.
    Tensor squares =
        pixels_.reshape({3, rows / merge_, merge_, patch_, columns / merge_, merge_, patch_})
            .permute({1, 4, 2, 5, 0, 3, 6});
    return squares.unsqueeze(5)
        .expand({rows / merge_, columns / merge_, merge_, merge_, 3, frames, patch_, patch_})
        .reshape({rows * columns, -1});
  }
  int64_t row_of(int64_t index) const {
    return index / (merge_ * merge_) / (columns / merge_) * merge_ + within(index) / merge_;
  }
  int64_t column_of(int64_t index) const {
    return index / (merge_ * merge_) % (columns / merge_) * merge_ + within(index) % merge_;
  }

  const int64_t rows, columns;

 private:
  int64_t within(int64_t index) const { return index % (merge_ * merge_); }
  const Tensor& pixels_;
  int64_t patch_, merge_;
};

// Where a row, or column, of patches is on a grid of `side` position embeddings, whose corners are
// the image's.
struct GridPlace {
  int64_t before, after;
  float share;  // of `after`
};

GridPlace grid_place(int64_t index, int64_t size, int64_t side) {
  const float at = static_cast<float>(index) * static_cast<float>(side - 1) /
                   static_cast<float>(std::max<int64_t>(size - 1, 1));
  const auto before = static_cast<int64_t>(std::floor(at));
  return {before, std::min(before + 1, side - 1), at - static_cast<float>(before)};
}

// The four corners of each patch's place on the grid, and how much of each is its.
void add_grid_corners(Qwen3VLVisionInput& input, const SquaredImage& image, int64_t side) {
  const int64_t patches = image.rows * image.columns;
  input.grid_places = at::empty({4, 1, patches}, at::kLong);
  input.grid_weights = at::empty({4, 1, patches, 1}, at::kFloat);
  auto* place = input.grid_places.mutable_data_ptr<int64_t>();
  auto* weight = input.grid_weights.mutable_data_ptr<float>();
  for (int64_t i = 0; i < patches; ++i) {
    const GridPlace y = grid_place(image.row_of(i), image.rows, side);
    const GridPlace x = grid_place(image.column_of(i), image.columns, side);
    for (int64_t corner = 0; corner < 4; ++corner) {
      const bool below = corner >= 2, right = corner % 2 == 1;
      place[corner * patches + i] =
          (below ? y.after : y.before) * side + (right ? x.after : x.before);
      weight[corner * patches + i] =
          (below ? y.share : 1 - y.share) * (right ? x.share : 1 - x.share);
    }
  }
}

}  // namespace

VisionInput vision_input(const Qwen25VLVisionConfig& config, const Tensor& pixels) {
  const SquaredImage image(pixels, config.patch_size, config.spatial_merge_size);
  VisionInput input;
  input.windows = vision_windows(config, image.rows, image.columns);
  const Tensor order = at::tensor(input.windows.order, at::kLong);
  input.patches = at::index_select(image.patches(config.temporal_patch_size), 0, order)
                      .unsqueeze(0)
                      .contiguous();
  input.positions = at::empty({image.rows * image.columns, 2}, at::kFloat);
  float* place = input.positions.mutable_data_ptr<float>();
  for (int64_t index : input.windows.order) {
    *place++ = static_cast<float>(image.row_of(index));
    *place++ = static_cast<float>(image.column_of(index));
  }
  return input;
}

Qwen3VLVisionInput qwen3_vl_vision_input(const Qwen3VLVisionConfig& config, const Tensor& pixels) {
  const SquaredImage image(pixels, config.patch_size, config.spatial_merge_size);
  Qwen3VLVisionInput input;
  input.patches = image.patches(config.temporal_patch_size).unsqueeze(0);
  input.positions = at::empty({image.rows * image.columns, 2}, at::kFloat);
  float* place = input.positions.mutable_data_ptr<float>();
  for (int64_t i = 0; i < image.rows * image.columns; ++i) {
    *place++ = static_cast<float>(image.row_of(i));
    *place++ = static_cast<float>(image.column_of(i));
  }
  add_grid_corners(input, image, config.grid_side());
  return input;
}

}  // namespace omnirt::blocks
