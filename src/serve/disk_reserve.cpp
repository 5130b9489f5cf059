#include "serve/disk_reserve.hpp"

#include <fcntl.h>

#include "io/file.hpp"
#include "serve/disk_room.hpp"

namespace omnirt::serve {
namespace fs = std::filesystem;

DiskReserve::DiskReserve(const fs::path& folder, uint64_t bytes)
    : file_(folder / "reserve"), bytes_(bytes) {}

bool DiskReserve::release_if_full() noexcept {
  std::error_code error;
  return !has_disk_room(file_.parent_path(), bytes_) && fs::remove(file_, error);
}

void DiskReserve::take() noexcept {
  constexpr uint64_t to_spare = 4;
  if (!has_disk_room(file_.parent_path(), to_spare * bytes_)) return;
  const io::Descriptor file(
      ::open(file_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return;
  std::error_code ignored;
  if (::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes_)) != 0) fs::remove(file_, ignored);
}

}  // namespace omnirt::serve
