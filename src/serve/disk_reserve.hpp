#pragma once
#include <cstdint>
#include <filesystem>

namespace omnirt::serve {

// A file that takes room on the disk of the state until the store of jobs needs it: a server that
// starts on a full disk removes it, and can then write that jobs are forgotten, which frees more.
class DiskReserve {
 public:
  explicit DiskReserve(const std::filesystem::path& folder, uint64_t bytes = uint64_t{8} << 20);
  // Removes the file where the disk has less room than it takes. True: it did.
  bool release_if_full() noexcept;
  // Makes the file where there is none and the disk has room to spare.
  void take() noexcept;

 private:
  std::filesystem::path file_;
  uint64_t bytes_;
};

}  // namespace omnirt::serve
