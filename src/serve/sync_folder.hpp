#pragma once
#include <filesystem>

namespace omnirt::serve {

// A name in a folder lasts when the folder is on the disk, too. Throws RunFailed.
void sync_folder(const std::filesystem::path& folder);

}  // namespace omnirt::serve
