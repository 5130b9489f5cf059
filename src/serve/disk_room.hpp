#pragma once
#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/error.hpp"

namespace omnirt::serve {

// The disk that holds the server's jobs is full, which no client can change but by deleting jobs.
class DiskFull : public Error {
 public:
  DiskFull();
};

// Whether a folder's disk has room for `bytes`. True where it cannot be told.
bool has_disk_room(const std::filesystem::path& folder, uint64_t bytes);

// Findings about folders that the server itself put into a request are no fault of the client's.
// Throws DiskFull or RunFailed where there are such.
void throw_servers_own(const std::vector<Finding>& findings, const std::filesystem::path& folder);

}  // namespace omnirt::serve
