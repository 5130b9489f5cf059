#include "io/system_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace omnirt::io {

double available_memory_gb() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  double kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:") return kibibytes / (1 << 20);
    std::getline(file, unit);
  }
  return 1e9;
}

uint64_t resident_bytes(std::span<const std::byte* const> except) {
  // Of each mapping, after its line "begin-end rights offset device inode path", figures by name.
  std::ifstream file("/proc/self/smaps");
  std::string line;
  uint64_t kibibytes = 0;
  bool counts = true;
  while (std::getline(file, line)) {
    uintptr_t begin = 0, end = 0;
    uint64_t figure = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto* from = reinterpret_cast<const std::byte*>(begin);
      auto inside = std::ranges::lower_bound(except, from);
      counts = inside == except.end() || reinterpret_cast<uintptr_t>(*inside) >= end;
    } else if (counts && std::sscanf(line.c_str(), "Rss: %lu", &figure) == 1) {
      kibibytes += figure;
    }
  }
  return kibibytes * 1024;
}

uint64_t peak_resident_bytes() {
  std::ifstream file("/proc/self/status");
  std::string line;
  uint64_t kibibytes = 0;
  while (std::getline(file, line)) {
    if (std::sscanf(line.c_str(), "VmHWM: %lu", &kibibytes) == 1) return kibibytes * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace omnirt::io
