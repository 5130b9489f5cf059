#include "io/system_memory.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

namespace omnirt::io {

namespace {

constexpr double no_limit = 1e9;  // GiB

double machine_gb(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string name, unit;
  double kibibytes = 0;
  while (file >> name >> kibibytes) {
    if (name == "MemAvailable:") return kibibytes / (1 << 20);
    std::getline(file, unit);
  }
  return no_limit;
}

// "/a/b" of the line "0::/a/b"; "" where there is none.
std::string own_group(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "";
}

double file_pages(const std::filesystem::path& group) {
  std::ifstream file(group / "memory.stat");
  std::string name;
  double bytes = 0, sum = 0;
  while (file >> name >> bytes) {
    if (name == "inactive_file" || name == "active_file") sum += bytes;
  }
  return sum;
}

// What one group may still take; without limit where it has none, or its files are not there.
double group_gb(const std::filesystem::path& group) {
  double limit = 0, holds = 0;
  std::ifstream max(group / "memory.max"), current(group / "memory.current");
  // A group without a limit says "max", which is no number.
  if (!(max >> limit) || !(current >> holds)) return no_limit;
  return std::max(0.0, limit - std::max(0.0, holds - file_pages(group))) / 0x1p30;
}

}  // namespace

double available_memory_gb(const std::filesystem::path& root) {
  double gb = machine_gb(root);
  const std::filesystem::path mounted = root / "sys/fs/cgroup";
  const std::string own = own_group(root);
  if (own.empty()) return gb;
  // Each group of the path limits those below it.
  for (std::filesystem::path group = std::filesystem::path(own).relative_path(); !group.empty();
       group = group.parent_path())
    gb = std::min(gb, group_gb(mounted / group));
  // In a container the own group is mounted there.
  return std::min(gb, group_gb(mounted));
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
