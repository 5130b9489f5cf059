#include "io/mapped_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"
#include "io/lost_pages.hpp"

namespace omnirt::io {
namespace {

// MADV_POPULATE_READ, since Linux 5.14; headers may be older.
constexpr int populate_read = 22;

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path,
                                                   Source source) {
  return std::shared_ptr<const MappedFile>(new MappedFile(path, source));
}

MappedFile::MappedFile(std::filesystem::path path, Source source)
    : path_(std::move(path)), source_(source) {
  OpenFile file = open_regular(path_);
  if (file.bytes == 0) return;
  bool mapped = source == Source::mapped;
  int flags = mapped ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  int protection = mapped ? PROT_READ : PROT_READ | PROT_WRITE;
  void* address = ::mmap(nullptr, file.bytes, protection, flags, mapped ? file.fd.get() : -1, 0);
  if (address == MAP_FAILED) {
    throw OutOfMemory(
        fmt::format("{}: no room for its {} bytes: {}; free memory, or raise the limit (ulimit -v)",
                    path_text(path_), file.bytes, std::generic_category().message(errno)));
  }
  data_ = static_cast<std::byte*>(address);
  size_ = file.bytes;
  if (mapped) {
    watch_mapping(bytes(), path_);
    return;
  }
  try {
    read_all(file.fd.get());
  } catch (...) {
    ::munmap(data_, size_);
    throw;
  }
}

void MappedFile::read_all(int fd) {
  size_t filled = 0;
  while (filled < size_) {
    ssize_t count = ::read(fd, data_ + filled, size_ - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      std::string reason = std::generic_category().message(errno);
      throw InvalidFile({path_text(path_), "", fmt::format("reading failed: {}", reason), ""});
    }
    if (count == 0) {
      throw InvalidFile({path_text(path_), "",
                         fmt::format("the file held {} bytes when it was opened, and ended after "
                                     "{}: somebody is writing to it",
                                     size_, filled),
                         "try again when it is complete"});
    }
    filled += static_cast<size_t>(count);
  }
  // From here on it is as read-only as a mapping.
  ::mprotect(data_, size_, PROT_READ);
}

MappedFile::~MappedFile() {
  if (!data_) return;
  if (source_ == Source::mapped) forget_mapping(bytes());
  ::munmap(data_, size_);
}

void MappedFile::release(size_t offset, size_t size) const {
  // On memory of our own, the same advice would replace the bytes by zeros.
  if (source_ == Source::read || offset >= size_ || size == 0) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t first = offset / mapped_at_once * mapped_at_once;
  size_t end = offset + std::min(size, size_ - offset);
  end = (end + mapped_at_once - 1) / mapped_at_once * mapped_at_once;
  size_t last = std::min(end, (size_ + page - 1) / page * page);
  ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

void read_ahead(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = address / page * page;
  const size_t size = address + bytes.size() - first;
  auto* at = reinterpret_cast<void*>(first);
  if (::madvise(at, size, populate_read) == 0) return;
  // An older kernel only begins to read.
  ::madvise(at, size, MADV_WILLNEED);
}

}  // namespace omnirt::io
