#include "io/file_state.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <vector>

namespace omnirt::io {
namespace fs = std::filesystem;
namespace {

// File systems count their times in steps of up to 2 s (FAT).
constexpr time_t settled_seconds = 3;

}  // namespace

std::string file_state(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  if (status.st_mtim.tv_sec + settled_seconds > ::time(nullptr)) return "";
  return fmt::format("{}:{}:{}:{}.{}:{}.{}", status.st_dev, status.st_ino, status.st_size,
                     status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_ctim.tv_sec,
                     status.st_ctim.tv_nsec);
}

std::string files_state(const fs::path& place) {
  std::error_code error;
  if (fs::is_regular_file(place, error)) return file_state(place);
  std::vector<std::string> states;
  for (fs::directory_iterator it(place, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored)) continue;
    const std::string state = file_state(it->path());
    if (state.empty()) return "";
    states.push_back(it->path().filename().string() + "=" + state);
  }
  if (error) return "";
  std::ranges::sort(states);
  std::string all;
  for (const std::string& state : states) all += state + "\n";
  return all;
}

}  // namespace omnirt::io
