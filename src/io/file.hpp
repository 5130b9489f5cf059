#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "io/lost_pages.hpp"

namespace omnirt::io {

// A file descriptor that closes itself; -1 is "none".
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  int release();
  void close();

 private:
  int fd_;
};

struct OpenFile {
  Descriptor fd;
  size_t bytes = 0;  // as the file system said at the time of opening
};

// Opens a regular file to read. Never blocks: a pipe, socket or device is refused before it is
// opened. Throws InvalidFile naming the file when it is missing, a folder, not a regular file, or
// may not be read, RunFailed where the system has no more descriptors or memory.
OpenFile open_regular(const std::filesystem::path& path);

// The whole file. Throws as `open_regular`, and InvalidFile when it holds more than `max_bytes`.
std::string read_file(const std::filesystem::path& path, size_t max_bytes);

// A JSON file, as `parse_json` reads it.
Json read_json(const std::filesystem::path& path, size_t max_bytes = max_json_bytes);

// Who may read a new file: those whom the user's umask allows, or the user alone.
enum class Readers { umask, owner };

// A file that is there whole or not at all: what is written goes to a temporary name next to the
// target, and `commit` renames it over the target. Destroyed without a commit, it leaves nothing
// and the target as it was. Makes no folders. A file that is replaced passes on its permissions
// and, where this user may give them, its owner and group. A target that is a symbolic link stays
// one: the file that it points to is replaced; a link to nothing is replaced itself.
// Throws InvalidRequest for what another path would fix (no such folder, no permission, the target
// is a folder or a device), RunFailed when the disk is full or fails, and InvalidFile when pages of
// a mapped file were lost between the constructor and `commit`: what was written may have come from
// there.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& target, Readers readers = Readers::umask);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view bytes) { write(std::as_bytes(std::span(bytes))); }
  // Once; after it nothing may be written.
  void commit();

 private:
  // Whose the target is that is there already.
  struct Replaced {
    unsigned mode, user, group;
  };
  static std::optional<Replaced> find_replaced(const std::filesystem::path& target);
  void open_temporary(unsigned mode);
  void hand_on() const;

  std::filesystem::path target_;
  std::optional<Replaced> replaced_;
  LostPages inputs_;
  std::filesystem::path temporary_;  // empty when there is none to remove
  Descriptor fd_;
};

// All of `bytes` into `path`, through AtomicFile.
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace omnirt::io
