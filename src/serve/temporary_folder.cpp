#include "serve/temporary_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;
namespace {

constexpr const char* prefix = "omnirt-serve-";
constexpr const char* lock_name = "owner.lock";

[[noreturn]] void cannot_make(const std::string& name) {
  throw InvalidRequest({"--state", name, "no temporary folder can be made", "name a folder"});
}

bool is_own(int fd, mode_t kind) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == kind &&
         status.st_uid == ::geteuid() && status.st_nlink > 0;
}

}  // namespace

// A sweep that comes between the file and its lock takes the folder for an abandoned one: another
// is made.
TemporaryFolder make_temporary_folder(const fs::path& where) {
  constexpr int attempts = 16;
  std::string name;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    name = (where / (std::string(prefix) + "XXXXXX")).string();
    if (!::mkdtemp(name.data())) break;
    const std::string file = name + "/" + lock_name;
    io::Descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const bool locked = lock.get() >= 0 && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0;
    if (locked && is_own(lock.get(), S_IFREG)) return {name, std::move(lock)};
    // A file system without locks: the folder is never swept.
    if (lock.get() >= 0 && !locked && errno != EWOULDBLOCK) {
      ::unlink(file.c_str());
      return {name, io::Descriptor()};
    }
    std::error_code ignored;
    fs::remove_all(name, ignored);
  }
  cannot_make(name);
}

void sweep_temporary_folders(const fs::path& where) noexcept {
  std::error_code error;
  for (fs::directory_iterator it(where, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(prefix)) continue;
    const io::Descriptor folder(
        ::open(it->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (folder.get() < 0 || !is_own(folder.get(), S_IFDIR)) continue;
    const io::Descriptor lock(::openat(folder.get(), lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC));
    if (lock.get() < 0 || !is_own(lock.get(), S_IFREG)) continue;
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) continue;
    std::error_code ignored;
    fs::remove_all(it->path(), ignored);
  }
}

}  // namespace omnirt::serve
