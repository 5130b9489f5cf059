#pragma once
#include <compare>
#include <cstdint>
#include <vector>

namespace omnirt {

// A row of a batch: one image under one condition of the guider.
struct RowId {
  uint32_t condition = 0;  // its place among the guider's conditions
  uint32_t image = 0;      // distinguishes windows and chunks of an image, too
  bool negative = false;   // evaluated under inputs that replace the request's
  auto operator<=>(const RowId&) const = default;  // NOLINT(modernize-use-nullptr): it is not
};
using RowIds = std::vector<RowId>;

}  // namespace omnirt
