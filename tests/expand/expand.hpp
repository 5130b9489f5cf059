#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace omnirt::testing {

struct Expanded {
  size_t files = 0;               // of `from`
  size_t written = 0;             // of those, in this call
  std::vector<std::string> kept;  // files of `to` that something else wrote since
};

// Makes `to` hold the files of `from` (tests/goldens) with packed ones unpacked. A file whose time
// is that of its source is up to date. Removes files whose source is gone, and keeps what scripts
// of tools/goldens wrote there to be packed. One process at a time does this; each file appears
// whole, after its checksum was verified. Throws InvalidFile for a damaged packed file.
Expanded expand_goldens(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace omnirt::testing
