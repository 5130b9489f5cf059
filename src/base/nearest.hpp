#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt {

// The known name nearest to `name` by edit distance, or "" when none is close enough to be a slip.
std::string nearest_name(std::string_view name, std::span<const std::string> known);

// "did you mean 'x'?", or "known: a, b, c" when nothing is near; for a Finding's fix.
std::string suggest(std::string_view name, std::span<const std::string> known);

}  // namespace omnirt
