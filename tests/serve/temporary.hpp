#pragma once
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace omnirt::serve {

// A folder of its own, which is removed with it.
class Temporary {
 public:
  explicit Temporary(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
    std::string name = (in / "omnirt-serve-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  // A file system in memory, where there is one.
  static std::filesystem::path in_memory() {
    std::error_code error;
    if (std::filesystem::is_directory("/dev/shm", error)) return "/dev/shm";
    return std::filesystem::temp_directory_path();
  }
  ~Temporary() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace omnirt::serve
