#pragma once
#include <filesystem>
#include <string>

namespace omnirt::io {

// A folder that is there whole or not at all: filled under a temporary name next to its target,
// never that of an existing folder, and renamed by `commit`. Destroyed without a commit, it leaves
// nothing.
class NewFolder {
 public:
  // `field` names the target in errors. Throws InvalidRequest when no folder can be made there.
  NewFolder(const std::string& field, const std::filesystem::path& target);
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;
  ~NewFolder();

  const std::filesystem::path& path() const { return temporary_; }
  // The target may be an empty folder. Throws RunFailed.
  void commit();

 private:
  std::filesystem::path target_, temporary_;
};

}  // namespace omnirt::io
