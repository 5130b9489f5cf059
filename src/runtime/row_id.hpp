#pragma once
#include <compare>
#include <cstdint>
#include <vector>

namespace omnirt {

// A row of a batch: one image under one condition of the guider.
struct RowId {
  uint32_t condition = 0;  // its place among the guider's conditions
  uint32_t image = 0;      // tells windows and chunks of an image apart, too
  bool negative = false;   // asked under inputs that stand in for the request's
  auto operator<=>(const RowId&) const = default;  // NOLINT(modernize-use-nullptr): it is not
};
using RowIds = std::vector<RowId>;

}  // namespace omnirt
