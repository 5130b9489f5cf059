#include "networks/qwen2_5_vl_for_conditional_generation/windows.hpp"

#include <algorithm>
#include <map>

namespace omnirt {

VisionWindows vision_windows(const Qwen25VLVisionConfig& config, int64_t rows, int64_t columns) {
  const int64_t merge = config.spatial_merge_size, square = merge * merge;
  const int64_t high = rows / merge, wide = columns / merge;
  const int64_t side = std::max<int64_t>(config.window_size / merge / config.patch_size, 1);
  // Windows by the number of their squares.
  std::map<int64_t, std::vector<std::vector<int64_t>>> by_size;
  for (int64_t top = 0; top < high; top += side) {
    for (int64_t left = 0; left < wide; left += side) {
      std::vector<int64_t> squares;
      for (int64_t y = top; y < std::min(top + side, high); ++y)
        for (int64_t x = left; x < std::min(left + side, wide); ++x)
          squares.push_back(y * wide + x);
      by_size[static_cast<int64_t>(squares.size())].push_back(std::move(squares));
    }
  }
  VisionWindows made;
  made.tokens.resize(static_cast<size_t>(high * wide));
  int64_t taken = 0;
  for (const auto& [size, windows] : by_size) {
    made.groups.push_back({static_cast<int64_t>(windows.size()), size * square});
    for (const std::vector<int64_t>& squares : windows) {
      for (int64_t each : squares) {
        made.tokens[static_cast<size_t>(each)] = taken++;
        for (int64_t i = 0; i < square; ++i) made.order.push_back(each * square + i);
      }
    }
  }
  return made;
}

}  // namespace omnirt
