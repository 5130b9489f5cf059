#include "runtime/capabilities.hpp"

#include <algorithm>

namespace omnirt {

std::vector<std::string> Capabilities::options(
    std::vector<std::string> ComputeMode::*values) const {
  std::vector<std::string> all;
  for (const ComputeMode& mode : modes) {
    for (const std::string& value : mode.*values) {
      if (std::ranges::find(all, value) == all.end()) all.push_back(value);
    }
  }
  return all;
}

}  // namespace omnirt
