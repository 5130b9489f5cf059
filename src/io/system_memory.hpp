#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace omnirt::io {

// Memory that the machine could give to this process without swapping, in GiB, as the kernel
// estimates it (MemAvailable), or as much of it as the process's control groups allow (cgroup v2:
// memory.max less what the group holds, pages of files apart, which the kernel takes back); a huge
// number where the kernel does not say. `root` is where /proc and /sys are.
double available_memory_gb(const std::filesystem::path& root = "/");

// This process's memory as the kernel counts it, in bytes: its own pages and the pages of files
// that it has mapped (VmRSS); 0 where the kernel does not say. Mappings that hold one of `except`
// (addresses, in order) are left out.
uint64_t resident_bytes(std::span<const std::byte* const> except = {});
// The most that it had since it began (VmHWM).
uint64_t peak_resident_bytes();

}  // namespace omnirt::io
