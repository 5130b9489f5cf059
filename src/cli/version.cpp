#include "cli/version.hpp"

#include <omnirt_version.hpp>

namespace omnirt::cli {

std::string version_text() {
  const std::string commit = build_commit;
  return std::string("omnirt ") + build_version + (commit.empty() ? "" : " (" + commit + ")") +
         ", libtorch " + build_libtorch;
}

}  // namespace omnirt::cli
