#include "hub/repository_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "hub/settings.hpp"

namespace omnirt::hub {
namespace fs = std::filesystem;
namespace {

constexpr size_t max_reference_bytes = 256;

std::string folder_name(const std::string& id) {
  std::string name = "models--";
  for (char c : id) name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw RunFailed(
        fmt::format("the folder {} cannot be made: {}", folder.string(), error.message()));
}

std::error_code try_open_lock(const fs::path& file, io::Descriptor& lock) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return error;
  constexpr int mode = 0664;
  lock = io::Descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, mode));
  return lock.get() < 0 ? std::error_code(errno, std::generic_category()) : std::error_code();
}

[[noreturn]] void cannot_open(const fs::path& file, const std::error_code& error) {
  throw RunFailed(fmt::format("{} cannot be opened: {}", file.string(), error.message()));
}

// The cache belongs to another user, or lies on a file system that cannot be written.
bool is_read_only(const std::error_code& error) {
  return error == std::errc::permission_denied || error == std::errc::operation_not_permitted ||
         error == std::errc::read_only_file_system;
}

[[noreturn]] void lock_failed() {
  throw RunFailed(
      fmt::format("a lock cannot be taken: {}", std::generic_category().message(errno)));
}

}  // namespace

RepositoryCache::RepositoryCache(const fs::path& cache, const std::string& id)
    : folder_(cache / folder_name(id)), locks_(cache / ".locks" / folder_name(id)) {}

fs::path RepositoryCache::blob(const RemoteFile& file) const {
  return folder_ / "blobs" / file.blob;
}

fs::path RepositoryCache::incomplete(const RemoteFile& file) const {
  return folder_ / "blobs" / (file.blob + ".incomplete");
}

fs::path RepositoryCache::lock(const RemoteFile& file) const {
  return locks_ / (file.blob + ".lock");
}

fs::path RepositoryCache::snapshot(const std::string& commit) const {
  return folder_ / "snapshots" / commit;
}

io::Descriptor RepositoryCache::keep() const {
  io::Descriptor lock;
  const fs::path file = locks_ / "pull.lock";
  if (const std::error_code error = try_open_lock(file, lock)) {
    if (!is_read_only(error)) cannot_open(file, error);
    return lock;
  }
  while (flock(lock.get(), LOCK_SH) != 0) {
    if (errno != EINTR) lock_failed();
  }
  return lock;
}

void RepositoryCache::link(const std::string& commit, const RemoteFile& file) const {
  const fs::path place = snapshot(commit) / file.path;
  const fs::path target = blob(file).lexically_relative(place.parent_path());
  make_folders(place.parent_path());
  std::error_code error;
  if (fs::read_symlink(place, error) == target && !error) return;
  // Renamed over what is there, so that a reader finds the old file or the new one.
  fs::path temporary = place;
  temporary += fmt::format(".{}.link", gettid());
  fs::remove(temporary, error);
  fs::create_symlink(target, temporary, error);
  if (!error) fs::rename(temporary, place, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  throw RunFailed(
      fmt::format("{} cannot be made as a link to its blob: {}", place.string(), error.message()));
}

void RepositoryCache::set_revision(const std::string& revision, const std::string& commit) const {
  if (revision == commit) return;
  if (commit_of(revision) == commit) return;
  const fs::path reference = folder_ / "refs" / revision;
  make_folders(reference.parent_path());
  io::write_file(reference, commit);
}

std::string RepositoryCache::commit_of(const std::string& revision) const {
  std::error_code error;
  const fs::path reference = folder_ / "refs" / revision;
  if (fs::is_regular_file(reference, error)) return read_reference(reference);
  return fs::is_directory(snapshot(revision), error) ? revision : "";
}

std::string read_reference(const fs::path& file) {
  std::string commit = io::read_file(file, max_reference_bytes);
  while (!commit.empty() && std::isspace(static_cast<unsigned char>(commit.back())))
    commit.pop_back();
  return commit;
}

fs::path find_snapshot(const std::string& id) {
  const fs::path cache = cache_folder();
  if (cache.empty() || id.find('/') == std::string::npos || id.find("..") != std::string::npos)
    return {};
  const fs::path repository = cache / folder_name(id), reference = repository / "refs" / "main";
  std::error_code error;
  if (!fs::is_regular_file(reference, error)) return {};
  const std::string commit = read_reference(reference);
  const fs::path snapshot = repository / "snapshots" / commit;
  if (commit.find('/') != std::string::npos || !fs::is_directory(snapshot, error)) return {};
  return snapshot;
}

void BlobLock::open(const fs::path& file) {
  if (const std::error_code error = try_open_lock(file, fd_)) cannot_open(file, error);
}

bool BlobLock::try_lock() const {
  return flock(fd_.get(), LOCK_EX | LOCK_NB) == 0;
}

void BlobLock::wait() const {
  while (flock(fd_.get(), LOCK_EX) != 0) {
    if (errno != EINTR) lock_failed();
  }
}

}  // namespace omnirt::hub
