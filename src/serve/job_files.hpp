#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::serve {

// The files of jobs: one folder per job inside a common one, readable only by the server's user.
// Job ids and file names may come from a database or a Redis: ones that are not as in job_names.hpp
// reach no file. Functions throw InvalidFile for them; `remove` does nothing.
class JobFiles {
 public:
  // Makes the folder. `lasts`: a process that comes after this one reads it, so that names are on
  // the disk where a function below says so. Throws InvalidRequest where it cannot be made.
  explicit JobFiles(const std::filesystem::path& folder, bool lasts = true);

  // Reads a file of a job's that another process made, where there are such; set before use.
  std::function<std::string(const std::string& job, const std::string& name)> fetch;

  std::filesystem::path folder_of(const std::string& job) const;
  // A file of a job's, fetched where it is not here.
  std::filesystem::path path_of(const std::string& job, const std::string& name);
  // Makes a job's folder; empties one that is there.
  void begin(const std::string& job);
  // The whole file is on the disk under its name, or nothing is. Throws RunFailed.
  std::filesystem::path write(const std::string& job, const std::string& name,
                              std::string_view bytes);
  // What a run left in a job's folder is on the disk, names too. Throws RunFailed.
  void sync(const std::string& job);
  // Notes that a job uses what has this name, until its files are removed: a name without folders.
  void note_use(const std::string& job, const std::string& what);
  // The jobs of which that was noted.
  std::vector<std::string> users_of(const std::string& what) const;
  // Removes a job's files; failures are left to the next start.
  void remove(const std::string& job) noexcept;
  // Removes those of jobs that are not in `known`: of one that was never accepted, or is forgotten.
  void sweep(const std::set<std::string>& known) noexcept;
  // Bytes that a job's files take.
  int64_t bytes_of(const std::string& job) const;

 private:
  void sync_folder(const std::filesystem::path& folder) const;

  std::filesystem::path folder_;
  bool lasts_;
};

}  // namespace omnirt::serve
