#include "source_paths.hpp"

namespace omnirt {
namespace fs = std::filesystem;

fs::path golden_path(const std::string& relative) {
  return fs::path(OMNIRT_GOLDENS) / relative;
}

fs::path source_path(const std::string& relative) {
  if (relative.empty()) return OMNIRT_SOURCE_DIR;
  const std::string goldens = "tests/goldens";
  if (relative == goldens) return OMNIRT_GOLDENS;
  if (relative.starts_with(goldens + "/")) return golden_path(relative.substr(goldens.size() + 1));
  return fs::path(OMNIRT_SOURCE_DIR) / relative;
}

}  // namespace omnirt
