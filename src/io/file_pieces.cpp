#include "io/file_pieces.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/path_text.hpp"

namespace omnirt::io {

FilePieces::FilePieces(const std::filesystem::path& path) : path_(path), file_(open_regular(path)) {
  // Without it the system reads a hundred kilobytes around each piece.
  ::posix_fadvise(file_.fd.get(), 0, 0, POSIX_FADV_RANDOM);
}

void FilePieces::expect(size_t offset, size_t size) const {
  ::posix_fadvise(file_.fd.get(), static_cast<off_t>(offset), static_cast<off_t>(size),
                  POSIX_FADV_WILLNEED);
}

std::vector<std::byte> FilePieces::read(size_t offset, size_t size) const {
  std::vector<std::byte> piece(size);
  for (size_t filled = 0; filled < size;) {
    const ssize_t count = ::pread(file_.fd.get(), piece.data() + filled, size - filled,
                                  static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const std::string reason =
          count == 0 ? "it became shorter" : std::generic_category().message(errno);
      throw InvalidFile({path_text(path_), "",
                         fmt::format("{} bytes at {} cannot be read: {}", size, offset, reason),
                         "try again when it is complete"});
    }
    filled += static_cast<size_t>(count);
  }
  return piece;
}

}  // namespace omnirt::io
