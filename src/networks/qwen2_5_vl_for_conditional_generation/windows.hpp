#pragma once
#include <array>
#include <vector>

#include "networks/qwen2_5_vl_for_conditional_generation/config.hpp"

namespace omnirt {

// In which order the vision tower takes the patches of an image, so that those of a window, and
// windows of one size, are adjacent. Attention needs no order.
struct VisionWindows {
  // Of the patches in the order of transformers' processors: squares of spatial_merge_size row by
  // row, and each square's patches row by row.
  std::vector<int64_t> order;
  // {windows, patches of each}, one group after the other.
  std::vector<std::array<int64_t, 2>> groups;
  // Where the tokens, one per square, are found afterwards, row by row.
  std::vector<int64_t> tokens;
};

// Of an image of this many patches, multiples of spatial_merge_size (transformers
// vision_utils.get_vision_window_index).
VisionWindows vision_windows(const Qwen25VLVisionConfig& config, int64_t rows, int64_t columns);

}  // namespace omnirt
