#include "serve/job_files.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"
#include "serve/job_names.hpp"
#include "serve/sync_folder.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view use_prefix = "uses-";

// Ids and names may come from a database or a Redis.
void require_id(const std::string& job) {
  if (is_job_id(job)) return;
  throw InvalidFile({"job.id", shown_name(job), "is not the id of a job", "remove the record"});
}
void require_name(const std::string& name) {
  if (is_file_name(name)) return;
  throw InvalidFile({"file", shown_name(name), "is not the name of a file in a job's folder",
                     "remove the record"});
}

}  // namespace

JobFiles::JobFiles(const fs::path& folder, bool lasts) : folder_(folder), lasts_(lasts) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw InvalidRequest({"state", folder.string(),
                          std::string("the folder cannot be made: ") + std::strerror(errno),
                          "name a folder that this user may write to"});
  }
}

void JobFiles::sync_folder(const fs::path& folder) const {
  if (lasts_) serve::sync_folder(folder);
}

fs::path JobFiles::folder_of(const std::string& job) const {
  require_id(job);
  return folder_ / job;
}

fs::path JobFiles::path_of(const std::string& job, const std::string& name) {
  require_name(name);
  const fs::path path = folder_of(job) / name;
  std::error_code error;
  if (!fetch || fs::exists(path, error)) return path;
  const std::string bytes = fetch(job, name);
  fs::create_directories(path.parent_path(), error);
  return write(job, name, bytes);
}

void JobFiles::begin(const std::string& job) {
  remove(job);
  const fs::path folder = folder_of(job);
  // Programs that tidy up temporary folders may have removed all of it.
  std::error_code error;
  if (!fs::exists(folder_, error)) fs::create_directories(folder_, error);
  if (::mkdir(folder.c_str(), 0700) != 0)
    throw RunFailed(path_text(folder) + ": cannot be made: " + std::strerror(errno));
  sync_folder(folder_);
}

fs::path JobFiles::write(const std::string& job, const std::string& name, std::string_view bytes) {
  require_name(name);
  const fs::path path = folder_of(job) / name;
  io::AtomicFile file(path, io::Readers::owner);
  file.write(bytes);
  file.commit();
  sync_folder(path.parent_path());
  return path;
}

void JobFiles::sync(const std::string& job) {
  sync_folder(folder_of(job));
}

void JobFiles::note_use(const std::string& job, const std::string& what) {
  write(job, std::string(use_prefix) + what, "");
}

std::vector<std::string> JobFiles::users_of(const std::string& what) const {
  std::vector<std::string> jobs;
  if (!is_file_name(what)) return jobs;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (fs::exists(it->path() / (std::string(use_prefix) + what), ignored))
      jobs.push_back(it->path().filename().string());
  }
  return jobs;
}

void JobFiles::remove(const std::string& job) noexcept {
  if (!is_job_id(job)) return;
  std::error_code error;
  fs::remove_all(folder_of(job), error);
}

void JobFiles::sweep(const std::set<std::string>& known) noexcept {
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (!known.contains(it->path().filename().string())) {
      std::error_code ignored;
      fs::remove_all(it->path(), ignored);
    }
  }
}

int64_t JobFiles::bytes_of(const std::string& job) const {
  std::error_code error;
  int64_t bytes = 0;
  for (fs::directory_iterator it(folder_of(job), error), end; !error && it != end;
       it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored)) bytes += static_cast<int64_t>(it->file_size(ignored));
  }
  return bytes;
}

}  // namespace omnirt::serve
