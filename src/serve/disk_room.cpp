#include "serve/disk_room.hpp"

#include <system_error>

namespace omnirt::serve {

DiskFull::DiskFull()
    : Error("DiskFull", "the server's disk is full: delete jobs, or try again later", 3) {}

bool has_disk_room(const std::filesystem::path& folder, uint64_t bytes) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return error || space.available >= bytes;
}

void throw_servers_own(const std::vector<Finding>& findings, const std::filesystem::path& folder) {
  // Less than any image takes.
  constexpr uint64_t least = uint64_t{64} << 10;
  for (const Finding& finding : findings) {
    if (finding.field != "config.output_dir" && finding.field != "config.preview_dir") continue;
    if (!has_disk_room(folder, least)) throw DiskFull();
    throw RunFailed(finding.text());
  }
}

}  // namespace omnirt::serve
