#include "runtime/resolve.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.hpp"

namespace omnirt {

Availability availability(const BackendInfo& info) noexcept {
  try {
    return info.make ? info.make()->is_available() : info.absent;
  } catch (const std::exception& error) {
    return {false, reason_of(error), ""};
  }
}

namespace {

Resolution by_name(const std::vector<BackendInfo>& all, const std::string& wanted) {
  auto info = std::ranges::find(all, wanted, &BackendInfo::name);
  if (info == all.end()) {
    std::vector<std::string> names{"auto"};
    for (const BackendInfo& each : all) names.push_back(each.name);
    throw Unsupported({"backend", wanted, "there is no such backend", suggest(wanted, names)});
  }
  Availability found = availability(*info);
  if (found.available) return {&*info, found.reason, {}};
  std::string otherwise = "use auto, or one that `omnirt backends` shows as available";
  throw Unsupported({"backend", wanted, "not available: " + found.reason,
                     found.way_out.empty() ? otherwise : found.way_out + ", or " + otherwise});
}

}  // namespace

Resolution resolve_backend(const std::vector<BackendInfo>& all, const std::string& wanted) {
  if (!wanted.empty() && wanted != "auto") return by_name(all, wanted);
  Resolution resolution;
  std::string reasons;
  for (const BackendInfo& info : all) {
    if (!info.automatic) continue;
    Availability found = availability(info);
    if (found.available) {
      resolution.backend = &info;
      resolution.reason = found.reason;
      return resolution;
    }
    resolution.passed_over.push_back({info.name, found.reason});
    reasons += fmt::format("; {}: {}", info.name, found.reason);
  }
  throw Unsupported(
      {"backend", "auto", "none is available" + reasons, "name one of them after setting it up"});
}

}  // namespace omnirt
