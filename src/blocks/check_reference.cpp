#include "blocks/check_reference.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnirt::blocks {
namespace {

constexpr int64_t least_reference_side = 64;
constexpr double most_aspect_ratio = 8;

}  // namespace

void refuse_reference(Checks& checks, const std::string& field, Size size, const std::string& why) {
  checks.error({field, fmt::format("{}x{}", size.width, size.height), why, "give another image"});
}

bool check_proportions(Checks& checks, const std::string& field, Size size) {
  auto [shorter, longer] = std::minmax(size.height, size.width);
  if (shorter < least_reference_side) {
    refuse_reference(
        checks, field, size,
        fmt::format("images of less than {} pixels a side are not taken", least_reference_side));
    return false;
  }
  if (static_cast<double>(longer) <= most_aspect_ratio * static_cast<double>(shorter)) return true;
  refuse_reference(checks, field, size,
                   fmt::format("one side is more than {} times the other", most_aspect_ratio));
  return false;
}

}  // namespace omnirt::blocks
