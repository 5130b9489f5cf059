#include "io/file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/ensure.hpp"
#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/cached_path.hpp"
#include "io/temporaries.hpp"
#include "io/utf8.hpp"

namespace omnirt::io {
namespace {

namespace fs = std::filesystem;

std::string reason(int code) {
  return std::generic_category().message(code);
}

[[noreturn]] void refuse_file(const fs::path& path, std::string message, std::string way_out = "") {
  throw InvalidFile({path_text(path), "", std::move(message), std::move(way_out)});
}

void refuse_broken_link(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  if (error) return;
  refuse_file(path, fmt::format("the file that it links to, {}, is missing", path_text(target)),
              fix_of_file(path, "restore it, or give another path"));
}

[[noreturn]] void cannot_open(const fs::path& path, int code) {
  if (code == ENOENT || code == ENOTDIR) {
    refuse_broken_link(path);
    refuse_file(path, "there is no such file", fix_of_file(path, "check the path"));
  }
  if (code == EACCES || code == EPERM) {
    refuse_file(path, "the file may not be read: permission denied");
  }
  // Of the system, and no fault of the file's.
  if (code == EMFILE || code == ENFILE || code == ENOMEM)
    throw RunFailed(
        fmt::format("{}: the file cannot be opened: {}", path_text(path), reason(code)));
  refuse_file(path, fmt::format("the file cannot be opened: {}", reason(code)));
}

void require_regular(const fs::path& path, const struct stat& info) {
  if (S_ISDIR(info.st_mode)) refuse_file(path, "this is a folder, and a file was expected");
  if (!S_ISREG(info.st_mode)) {
    refuse_file(path, "this is a pipe, socket or device, and a regular file was expected",
                "copy its content to a file first");
  }
}

// The C interfaces end a path at the first zero byte, so the rest would be silently lost.
bool is_path(const fs::path& path) {
  return !path.empty() && path.native().find('\0') == std::string::npos;
}

[[noreturn]] void refuse_target(const fs::path& target, std::string message,
                                std::string way_out = "give another path") {
  throw InvalidRequest({path_text(target), "", std::move(message), std::move(way_out)});
}

[[noreturn]] void cannot_write(const fs::path& target, int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR:
      refuse_target(target,
                    fmt::format("the folder '{}' does not exist",
                                target.has_parent_path() ? path_text(target.parent_path()) : "."),
                    "make the folder first, or give another path");
    case EACCES:
    case EPERM:
      refuse_target(target, "the file may not be written: permission denied");
    case EROFS:
      refuse_target(target, "the file may not be written: the file system is read-only");
    case ENAMETOOLONG:
      refuse_target(target, "the file's name is too long for its file system", "shorten it");
    case ENOSPC:
    case EDQUOT:
      throw RunFailed(fmt::format("{}: the disk is full; free some space, or write elsewhere",
                                  path_text(target)));
    case EFBIG:
      throw RunFailed(
          fmt::format("{}: the file grew past the largest size that this process may "
                      "write; raise the limit (ulimit -f)",
                      path_text(target)));
    default:
      throw RunFailed(fmt::format("{}: writing failed: {}", path_text(target), reason(code)));
  }
}

// Follows a symbolic link, so that the commit replaces the file and not the link.
fs::path resolved(const fs::path& target) {
  std::error_code error;
  if (!fs::is_symlink(target, error)) return target;
  fs::path real = fs::weakly_canonical(target, error);
  if (error) cannot_write(target, error.value());
  return real;
}

}  // namespace

std::optional<AtomicFile::Replaced> AtomicFile::find_replaced(const fs::path& target) {
  struct stat info {};
  if (::stat(target.c_str(), &info) != 0) {
    if (errno != ENOENT) cannot_write(target, errno);
    return std::nullopt;
  }
  if (S_ISDIR(info.st_mode)) refuse_target(target, "this is a folder, and a file is to be written");
  // Renaming over a device would remove the device.
  if (!S_ISREG(info.st_mode)) refuse_target(target, "this is a pipe, socket or device");
  if (::access(target.c_str(), W_OK) != 0) cannot_write(target, errno);
  constexpr unsigned permissions = 0777;
  return Replaced{info.st_mode & permissions, info.st_uid, info.st_gid};
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    fd_ = other.release();
  }
  return *this;
}

int Descriptor::release() {
  return std::exchange(fd_, -1);
}

void Descriptor::close() {
  if (int fd = release(); fd >= 0) ::close(fd);
}

OpenFile open_regular(const fs::path& path) {
  if (!is_path(path)) refuse_file(shown_name(path.native()), "this is not a file's path");
  struct stat info {};
  // Checked before it is opened: opening alone can block on a pipe or rewind a tape.
  if (::stat(path.c_str(), &info) != 0) cannot_open(path, errno);
  require_regular(path, info);
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) cannot_open(path, errno);
  // Checked again: another process may have put something else there meanwhile.
  if (::fstat(fd.get(), &info) != 0) cannot_open(path, errno);
  require_regular(path, info);
  return {std::move(fd), static_cast<size_t>(info.st_size)};
}

std::string read_file(const fs::path& path, size_t max_bytes) {
  OpenFile file = open_regular(path);
  auto too_large = [&](size_t bytes) {
    refuse_file(path,
                fmt::format("the file holds {} bytes, and the limit is {}", bytes, max_bytes));
  };
  if (file.bytes > max_bytes) too_large(file.bytes);
  // One byte more than expected shows a file that grows, or whose size is not known (as in /proc);
  // it is there from the start, for growing would copy all of the file.
  std::string content(file.bytes + 1, '\0');
  size_t filled = 0;
  while (true) {
    if (filled == content.size()) content.resize(filled + 4096);
    ssize_t count = ::read(file.fd.get(), content.data() + filled, content.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse_file(path, fmt::format("reading failed: {}", reason(errno)));
    if (count == 0) break;
    filled += static_cast<size_t>(count);
    if (filled > max_bytes) too_large(filled);
  }
  content.resize(filled);
  return content;
}

Json read_json(const fs::path& path, size_t max_bytes) {
  return parse_json(read_file(path, max_bytes), path_text(path), max_bytes);
}

AtomicFile::AtomicFile(const fs::path& target, Readers readers) {
  if (!is_path(target) || !target.has_filename()) {
    refuse_target(shown_name(target.native()), "this is not a file's path");
  }
  target_ = resolved(target);
  replaced_ = find_replaced(target_);
  constexpr unsigned anyone = 0666, owner = 0600;
  open_temporary(replaced_ || readers == Readers::owner ? owner : anyone);
}

void AtomicFile::open_temporary(unsigned mode) {
  static std::atomic<unsigned> count{0};
  // The target's own name is not part of it: with a suffix it could exceed the limit of a name.
  constexpr int attempts = 100;
  temporary_ = keep_temporary([&] {
    for (int i = 0; i < attempts; ++i) {
      fs::path name = target_.parent_path() /
                      fmt::format(".omnirt-{}-{}.tmp", static_cast<long>(::getpid()), count++);
      fd_ = Descriptor(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
      if (fd_.get() >= 0) return name;
      if (errno != EEXIST) break;
    }
    cannot_write(target_, errno);
  });
}

AtomicFile::~AtomicFile() {
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget_temporary(temporary_);
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  ensure(fd_.get() >= 0, "{}: written to after its commit", path_text(target_));
  while (!bytes.empty()) {
    ssize_t count = ::write(fd_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EFAULT) {
      refuse_file(mapped_file_at(bytes.data()), "the file became shorter while it was in use",
                  "let nothing write to it during a run");
    }
    if (count < 0) cannot_write(target_, errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
}

// Before the name changes, so that at no time an unauthorised user can read it. A group that cannot
// be kept gets no permissions in the new file either.
void AtomicFile::hand_on() const {
  if (!replaced_) return;
  constexpr unsigned of_group = 0070;
  const bool group_kept = ::fchown(fd_.get(), static_cast<uid_t>(-1), replaced_->group) == 0;
  if (::fchown(fd_.get(), replaced_->user, static_cast<gid_t>(-1)) != 0) errno = 0;
  ::fchmod(fd_.get(), group_kept ? replaced_->mode : replaced_->mode & ~of_group);
}

void AtomicFile::commit() {
  ensure(fd_.get() >= 0, "{}: committed twice", path_text(target_));
  inputs_.check();
  hand_on();
  // Some file systems report a full disk only here; a few cannot flush at all and say EINVAL.
  if (::fsync(fd_.get()) != 0 && errno != EINVAL) cannot_write(target_, errno);
  if (::close(fd_.release()) != 0) cannot_write(target_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) cannot_write(target_, errno);
  forget_temporary(temporary_);
  temporary_.clear();
}

void write_file(const fs::path& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file(const fs::path& path, std::string_view bytes) {
  write_file(path, std::as_bytes(std::span(bytes)));
}

}  // namespace omnirt::io
