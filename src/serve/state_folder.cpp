#include "serve/state_folder.hpp"

#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "io/temporaries.hpp"
#include "serve/temporary_folder.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

constexpr fs::perms others = fs::perms::group_all | fs::perms::others_all;
constexpr std::array<std::string_view, 4> databases{"jobs.sqlite", "jobs.sqlite-wal",
                                                    "jobs.sqlite-shm", "jobs.sqlite-journal"};
constexpr std::array<std::string_view, 2> folders{"jobs", "adapters"};

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw InvalidRequest({"--state", folder.string(), "the folder cannot be made: " + why,
                        "name a folder that this user may write to"});
}

// Parents as usual; the folder itself for this user only.
void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path(), error);
  if (error) refuse(folder, error.message());
  if (::mkdir(folder.c_str(), 0700) == 0) return;
  const int why = errno;
  if (!fs::is_directory(folder, error)) refuse(folder, std::strerror(why));
}

bool is_open_to_others(const fs::path& path) {
  std::error_code error;
  const fs::file_status now = fs::symlink_status(path, error);
  return !error && !fs::is_symlink(now) && (now.permissions() & others) != fs::perms::none;
}

void close_to_others(const fs::path& path) {
  if (!is_open_to_others(path)) return;
  std::error_code error;
  fs::permissions(path, others, fs::perm_options::remove, error);
  if (error)
    spdlog::warn("--state: other users may read {}: {}", path.string(), error.message());
  else
    spdlog::info("--state: {} was open to other users and no longer is", path.string());
}

// Nothing in it but what a server keeps there: the home folder of a user, say, stays as it is.
bool holds_only_state(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (std::ranges::find(databases, name) == databases.end() &&
        std::ranges::find(folders, name) == folders.end())
      return false;
  }
  return !error;
}

// Earlier versions left the database, with all prompts, to every user of the machine.
void tighten(const fs::path& folder) {
  for (const std::string_view name : databases) close_to_others(folder / name);
  for (const std::string_view name : folders) close_to_others(folder / name);
  if (holds_only_state(folder))
    close_to_others(folder);
  else if (is_open_to_others(folder))
    spdlog::info("--state: {} holds other files too, so its permissions stay as they are",
                 folder.string());
}

}  // namespace

StateFolder::StateFolder(const std::string& named) : temporary_(named.empty()) {
  if (temporary_) {
    const fs::path where = fs::temp_directory_path();
    sweep_temporary_folders(where);
    path_ = io::keep_temporary([&] {
      TemporaryFolder made = make_temporary_folder(where);
      lock_ = std::move(made.lock);
      return made.path;
    });
    return;
  }
  path_ = fs::absolute(named).lexically_normal();
  if (!path_.has_filename()) path_ = path_.parent_path();
  make_folder(path_);
  tighten(path_);
}

StateFolder::~StateFolder() {
  if (!temporary_) return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  io::forget_temporary(path_);
}

}  // namespace omnirt::serve
