#pragma once
#include <filesystem>

#include "io/file.hpp"

namespace omnirt::serve {

// A temporary folder and the lock that says its owner lives, which the system releases when the
// owner ends, by whatever signal.
struct TemporaryFolder {
  std::filesystem::path path;
  io::Descriptor lock;
};

// Makes one in `where`, for this user only. Throws InvalidRequest where that is not possible.
TemporaryFolder make_temporary_folder(const std::filesystem::path& where);

// Removes the folders in `where` whose owners ended without doing so: this user's, made by
// make_temporary_folder, with a lock that no process holds. Others stay.
void sweep_temporary_folders(const std::filesystem::path& where) noexcept;

}  // namespace omnirt::serve
