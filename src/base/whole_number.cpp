#include "base/whole_number.hpp"

namespace omnirt {

std::optional<int64_t> whole_number(const Json& value, int64_t low, int64_t high) {
  if (!value.is_number_integer()) return std::nullopt;
  constexpr uint64_t largest = std::numeric_limits<int64_t>::max();
  if (value.is_number_unsigned() && value.get<uint64_t>() > largest) return std::nullopt;
  const auto number = value.get<int64_t>();
  return low <= number && number <= high ? std::optional(number) : std::nullopt;
}

}  // namespace omnirt
