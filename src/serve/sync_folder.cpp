#include "serve/sync_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/path_text.hpp"
#include "io/file.hpp"

namespace omnirt::serve {
namespace {

[[noreturn]] void cannot(const char* what, const std::filesystem::path& path, int error) {
  throw RunFailed(path_text(path) + ": " + what + ": " + std::strerror(error));
}

}  // namespace

void sync_folder(const std::filesystem::path& folder) {
  io::Descriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) cannot("cannot be opened", folder, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) cannot("cannot be written", folder, errno);
}

}  // namespace omnirt::serve
