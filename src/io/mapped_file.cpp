#include "io/mapped_file.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "io/file.hpp"
#include "io/lost_pages.hpp"

namespace omnirt::io {

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
                    path_.string(), file.bytes, std::generic_category().message(errno)));
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
      throw InvalidFile({path_.string(), "", fmt::format("reading failed: {}", reason), ""});
    }
    if (count == 0) {
      throw InvalidFile({path_.string(), "",
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
  if (source_ == Source::read || offset >= size_) return;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  size_t end = offset + std::min(size, size_ - offset);
  size_t first = (offset + page - 1) / page * page;
  // The last page counts as whole: nothing lies behind the file's end.
  size_t last = end == size_ ? (end + page - 1) / page * page : end / page * page;
  if (first < last) ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

}  // namespace omnirt::io
