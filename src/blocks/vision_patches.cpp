#include "blocks/vision_patches.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>

#include "base/ensure.hpp"

namespace omnirt::blocks {

VisionInput vision_input(const Qwen25VLVisionConfig& config, const Tensor& pixels) {
  const int64_t patch = config.patch_size, merge = config.spatial_merge_size;
  const int64_t rows = pixels.size(2) / patch, columns = pixels.size(3) / patch;
  ensure(rows > 0 && columns > 0 && rows % merge == 0 && columns % merge == 0,
         "{}x{} pixels are no whole squares of patches", pixels.size(3), pixels.size(2));
  VisionInput input;
  input.windows = vision_windows(config, rows, columns);
  const Tensor order = at::tensor(input.windows.order, at::kLong);
  // {rows of squares, columns of squares, row, column, channel, pixel row, pixel column}.
  Tensor squares = pixels.reshape({3, rows / merge, merge, patch, columns / merge, merge, patch})
                       .permute({1, 4, 2, 5, 0, 3, 6});
  Tensor patches = squares.unsqueeze(5)
                       .expand({rows / merge, columns / merge, merge, merge, 3,
                                config.temporal_patch_size, patch, patch})
                       .reshape({rows * columns, -1});
  input.patches = at::index_select(patches, 0, order).unsqueeze(0).contiguous();
  input.positions = at::empty({rows * columns, 2}, at::kFloat);
  float* place = input.positions.mutable_data_ptr<float>();
  for (int64_t index : input.windows.order) {
    const int64_t each = index / (merge * merge), within = index % (merge * merge);
    *place++ = static_cast<float>(each / (columns / merge) * merge + within / merge);
    *place++ = static_cast<float>(each % (columns / merge) * merge + within % merge);
  }
  return input;
}

}  // namespace omnirt::blocks
