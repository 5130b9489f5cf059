#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace omnirt::io {

// How a file's bytes come into memory.
//   mapped: the file is mapped read-only; pages come when touched, and the system may drop them
//     again. Touching a page that is gone because another process made the file shorter raises
//     SIGBUS (see io/lost_pages.hpp). A file that is replaced by renaming another over it (as
//     AtomicFile does) is safe: the mapping keeps the old file.
//   read: the file is read once into memory of our own, and nothing done to it later matters. For
//     servers and for folders that others write to; it costs the file's size in memory.
enum class Source { mapped, read };

// The bytes of a whole file, read-only, at an address that is a multiple of the page size. Shared
// by the tensors that look into it.
class MappedFile {
 public:
  // Throws InvalidFile when it is missing, a folder, not a regular file, unreadable, or shrinks
  // while it is read; OutOfMemory when there is no room for it.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path,
                                                Source source = Source::mapped);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  Source source() const { return source_; }
  const std::filesystem::path& path() const { return path_; }

  // Releases to the system the pages of the range, and those around it that the system mapped when
  // these were touched; touched again, they are read from the file again. Does nothing when the
  // source is `read`, whose bytes exist only here.
  void release(size_t offset, size_t size) const;

 private:
  MappedFile(std::filesystem::path path, Source source);
  void read_all(int fd);

  std::filesystem::path path_;
  Source source_;
  std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// Bytes that a touched page brings with it, for the system maps pages in runs of this many (Linux:
// fault_around_bytes).
inline constexpr size_t mapped_at_once = size_t{64} << 10;

// Brings the pages of mapped bytes into memory, and returns when they are there. Pages that are
// lost are skipped: code that touches them learns of it (io/lost_pages.hpp).
void read_ahead(std::span<const std::byte> bytes);

}  // namespace omnirt::io
