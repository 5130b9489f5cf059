#pragma once
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace omnirt::testing {

// Of findings: one is about this field and says this.
inline auto about(const std::string& field, const std::string& what = "") {
  return ::testing::Contains(
      ::testing::AllOf(::testing::Field(&Finding::field, ::testing::HasSubstr(field)),
                       ::testing::Field(&Finding::message, ::testing::HasSubstr(what))));
}

// A place for a file or folder of this process's own; what is there is deleted with the object.
class TemporaryPath {
 public:
  explicit TemporaryPath(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("omnirt-" + std::to_string(::getpid()) + "-" + name)) {
    std::filesystem::remove_all(path_);
  }
  ~TemporaryPath() { std::filesystem::remove_all(path_); }
  TemporaryPath(const TemporaryPath&) = delete;
  TemporaryPath& operator=(const TemporaryPath&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace omnirt::testing
