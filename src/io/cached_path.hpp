#pragma once
#include <filesystem>
#include <string>

namespace omnirt::io {

// The id of the repository ("organisation/name") whose copy in a Hugging Face cache a path is in;
// "" for any other path. Looks at the path's names only, .../models--ORG--NAME/snapshots/...
std::string cached_repository(const std::filesystem::path& path);

// How to get a file that is missing or damaged: by `omnirt pull` in a Hugging Face cache, else
// `otherwise`.
std::string fix_of_file(const std::filesystem::path& path, const std::string& otherwise);

}  // namespace omnirt::io
