#pragma once
#include <filesystem>
#include <string>

#include "hub/listing.hpp"

namespace omnirt::hub {

// The digest of a file's bytes as the hub lists it: SHA-256 of large ones, of others the name that
// git gives to their content (SHA-1 over "blob SIZE", a zero byte and the bytes). Hexadecimal.
// Throws RunFailed where the file cannot be read.
std::string digest_of(const std::filesystem::path& path, const RemoteFile& listed);

}  // namespace omnirt::hub
