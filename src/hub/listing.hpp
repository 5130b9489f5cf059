#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace omnirt::hub {

// "organisation/name", or a name alone, as old repositories have. Throws InvalidRequest under
// `field` for what the hub takes for no repository.
void check_repository(const std::string& field, const std::string& id);
// A branch, tag or commit: at most 255 bytes of what git takes for one.
void check_revision(const std::string& revision);

// A file of a repository, as the hub lists it.
struct RemoteFile {
  std::string path;  // "unet/config.json", below the repository
  uint64_t bytes = 0;
  std::string blob;    // its name in the cache: sha256 of a large file, git's sha1 of others
  bool large = false;  // kept by content (Git LFS): `blob` is the sha256 of its bytes
};

struct Listing {
  std::string commit;  // 40 hexadecimal digits
  std::vector<RemoteFile> files;

  const RemoteFile* find(std::string_view path) const;
  // The names of the files in `folder` ("": at the top), without those in folders below it.
  std::vector<std::string> names_in(const std::string& folder) const;
};

inline constexpr size_t max_listed_files = 50'000;
inline constexpr size_t max_listing_bytes = size_t{64} << 20;

// What the hub answers to /api/models/ID/revision/REVISION?blobs=true. Throws InvalidFile, naming
// `where`, for anything that it would not say: paths that lead out of the repository, sizes and
// digests that are none, and more than max_listed_files.
Listing parse_listing(std::string_view text, const std::string& where);

// "a b/c" as a part of an address; slashes stay.
std::string percent_encoded(std::string_view path);

}  // namespace omnirt::hub
