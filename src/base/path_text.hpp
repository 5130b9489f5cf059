#pragma once
#include <filesystem>
#include <map>
#include <string>

namespace omnirt {

// The text for a path in findings, errors and reports: the whole path, or, while a PathNames
// exists, no more of it than that allows. Everything that a person may read is formatted with this;
// `native()` is for paths that code uses again.
std::string path_text(const std::filesystem::path& path);

// Restricts path_text to names in a process that answers requests of others, for as long as it
// exists: a path inside one of these folders is the folder's name with the rest, and any other path
// only its last component. Several add up.
class PathNames {
 public:
  // {folder or file: its name}, by absolute paths.
  explicit PathNames(const std::map<std::filesystem::path, std::string>& names);
  ~PathNames();
  PathNames(const PathNames&) = delete;
  PathNames& operator=(const PathNames&) = delete;

 private:
  std::multimap<std::filesystem::path, std::string> names_;
};

}  // namespace omnirt
