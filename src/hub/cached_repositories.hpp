#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace omnirt::hub {

// A repository of models in the local cache.
struct CachedRepository {
  std::string id;  // "organisation/name"
  std::filesystem::path folder;
  uint64_t bytes = 0;                    // of all that it holds, each blob once
  uint64_t bytes_begun = 0;              // of it, beginnings of files
  std::vector<std::string> revisions{};  // branches and tags that have a snapshot
};

// All of the cache, the largest first. Folders that are no repository's are left out. Throws
// RunFailed where the cache cannot be read.
std::vector<CachedRepository> cached_repositories(const std::filesystem::path& cache);

// Takes a repository out of the cache; what was freed. It is gone under its name before the first
// of its files is. Throws InvalidRequest where it is not there, or while a process fetches a file
// of it, and RunFailed.
uint64_t remove_repository(const std::filesystem::path& cache, const std::string& id);

// Takes out what nothing names of every repository that no process is fetching: beginnings of
// files, snapshots that no branch or tag has, and blobs that no snapshot links to; what was freed.
// Throws RunFailed.
uint64_t prune_cache(const std::filesystem::path& cache);

}  // namespace omnirt::hub
