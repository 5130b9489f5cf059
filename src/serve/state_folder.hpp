#pragma once
#include <filesystem>
#include <string>

#include "io/file.hpp"

namespace omnirt::serve {

// Where jobs and their files are: the folder that was named, or ("") one of the process's own,
// which goes with it. Throws InvalidRequest where it cannot be made.
class StateFolder {
 public:
  explicit StateFolder(const std::string& named);
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  bool temporary_;
  std::filesystem::path path_;
  io::Descriptor lock_;  // of a temporary one
};

}  // namespace omnirt::serve
