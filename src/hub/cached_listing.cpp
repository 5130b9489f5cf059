#include "hub/cached_listing.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace omnirt::hub {
namespace fs = std::filesystem;

Listing listing_of_cached(const RepositoryCache& cache, const std::string& commit) {
  Listing listing{commit, {}};
  const fs::path snapshot = cache.snapshot(commit);
  std::error_code error;
  for (fs::recursive_directory_iterator it(snapshot, error), end; !error && it != end;
       it.increment(error)) {
    if (fs::is_directory(it->path())) continue;
    std::error_code missing;
    const uint64_t bytes = fs::file_size(it->path(), missing);
    if (missing)
      throw InvalidFile({it->path().string(), "", "the file that it links to is missing", ""});
    const fs::path blob = fs::weakly_canonical(it->path(), missing).filename();
    listing.files.push_back(
        {it->path().lexically_relative(snapshot).string(), bytes, blob.string()});
  }
  std::ranges::sort(listing.files, {}, &RemoteFile::path);
  return listing;
}

}  // namespace omnirt::hub
