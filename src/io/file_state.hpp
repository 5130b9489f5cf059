#pragma once
#include <filesystem>
#include <string>

namespace omnirt::io {

// A text that differs once the file of this path has other bytes: of its place on the disk, its
// size and its times. "" where there is no regular file, and where it was changed so lately that
// another change could leave its times as they are.
std::string file_state(const std::filesystem::path& path);

// Of all regular files in a folder, with their names; of a file its own. "" as above, and where
// there is nothing.
std::string files_state(const std::filesystem::path& place);

}  // namespace omnirt::io
