#include "hub/cached_repositories.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.hpp"
#include "hub/listing.hpp"
#include "hub/repository_cache.hpp"
#include "io/file.hpp"

namespace omnirt::hub {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view prefix = "models--", begun_suffix = ".incomplete";

// "models--organisation--name" is "organisation/name"; "" for others.
std::string id_of(const std::string& folder) {
  if (!folder.starts_with(prefix)) return "";
  std::string id = folder.substr(prefix.size());
  if (size_t dashes = id.find("--"); dashes != id.npos) id.replace(dashes, 2, "/");
  return id;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(it->path());
  std::ranges::sort(entries);
  return entries;
}

// Those that are plain files, not links.
uint64_t own_bytes(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(fs::symlink_status(path, error))) return 0;
  const uint64_t bytes = fs::file_size(path, error);
  return error ? 0 : bytes;
}

uint64_t tree_bytes(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error))
    bytes += own_bytes(it->path());
  return bytes;
}

struct Reference {
  std::string name, commit;
};

// Names of branches may hold slashes, as pull requests' do.
std::vector<Reference> references_of(const fs::path& repository) {
  std::vector<Reference> found;
  const fs::path folder = repository / "refs";
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (!it->is_regular_file(error)) continue;
    found.push_back({it->path().lexically_relative(folder).string(), read_reference(it->path())});
  }
  return found;
}

// Whether a process holds the lock, as whoever fetches the blob does.
bool is_held(const fs::path& lock) {
  const io::Descriptor fd(::open(lock.c_str(), O_RDWR | O_CLOEXEC));
  return fd.get() >= 0 && flock(fd.get(), LOCK_EX | LOCK_NB) != 0;
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error)
    throw RunFailed(fmt::format("{} cannot be removed: {}", path.string(), error.message()));
}

void drop_snapshots_without_reference(const fs::path& repository) {
  std::set<std::string> kept;
  for (const Reference& reference : references_of(repository)) kept.insert(reference.commit);
  for (const fs::path& snapshot : entries_of(repository / "snapshots"))
    if (!kept.contains(snapshot.filename().string())) remove_tree(snapshot);
}

std::set<fs::path> linked_blobs(const fs::path& repository) {
  std::set<fs::path> linked;
  std::error_code error;
  for (fs::recursive_directory_iterator it(repository / "snapshots", error), end;
       !error && it != end; it.increment(error)) {
    std::error_code not_there;
    if (it->is_symlink(not_there)) linked.insert(fs::weakly_canonical(it->path(), not_there));
  }
  return linked;
}

uint64_t drop_blobs_without_link(const fs::path& repository) {
  const std::set<fs::path> linked = linked_blobs(repository);
  uint64_t freed = 0;
  for (const fs::path& blob : entries_of(repository / "blobs")) {
    std::error_code error;
    if (linked.contains(fs::weakly_canonical(blob, error))) continue;
    const uint64_t bytes = own_bytes(blob);
    remove_tree(blob);
    freed += bytes;
  }
  return freed;
}

bool any_held(const fs::path& locks) {
  return std::ranges::any_of(entries_of(locks), is_held);
}

}  // namespace

std::vector<CachedRepository> cached_repositories(const fs::path& cache) {
  std::vector<CachedRepository> found;
  std::error_code unreadable;
  const fs::directory_iterator first(cache, unreadable);
  if (unreadable && unreadable != std::errc::no_such_file_or_directory)
    throw RunFailed(
        fmt::format("the folder {} cannot be read: {}", cache.string(), unreadable.message()));
  for (const fs::path& folder : entries_of(cache)) {
    std::error_code error;
    const std::string id = id_of(folder.filename().string());
    if (id.empty() || !fs::is_directory(folder, error)) continue;
    CachedRepository repository{id, folder, tree_bytes(folder)};
    for (const fs::path& blob : entries_of(folder / "blobs"))
      if (blob.string().ends_with(begun_suffix)) repository.bytes_begun += own_bytes(blob);
    for (const Reference& reference : references_of(folder))
      if (fs::is_directory(folder / "snapshots" / reference.commit, error))
        repository.revisions.push_back(reference.name);
    found.push_back(std::move(repository));
  }
  std::ranges::stable_sort(found, std::greater<>{}, &CachedRepository::bytes);
  return found;
}

uint64_t remove_repository(const fs::path& cache, const std::string& id) {
  check_repository("model", id);
  const auto all = cached_repositories(cache);
  const auto it = std::ranges::find(all, id, &CachedRepository::id);
  if (it == all.end())
    throw InvalidRequest({"model", id, fmt::format("not in the cache ({})", cache.string()),
                          "`omnirt cache` lists what is there"});
  const fs::path locks = cache / ".locks" / it->folder.filename();
  if (any_held(locks))
    throw InvalidRequest({"model", id, "a process is fetching a file of it",
                          "end that first, or wait until it has ended"});
  const fs::path removed =
      cache / fmt::format(".removed-{}-{}", getpid(), it->folder.filename().string());
  std::error_code error;
  fs::rename(it->folder, removed, error);
  if (error)
    throw RunFailed(fmt::format("{} cannot be removed: {}", it->folder.string(), error.message()));
  remove_tree(removed);
  remove_tree(locks);
  return it->bytes;
}

uint64_t prune_cache(const fs::path& cache) {
  uint64_t freed = 0;
  for (const CachedRepository& repository : cached_repositories(cache)) {
    const fs::path locks = cache / ".locks" / repository.folder.filename();
    // Whoever is fetching links blobs and names the snapshot at the end.
    if (any_held(locks)) continue;
    drop_snapshots_without_reference(repository.folder);
    freed += drop_blobs_without_link(repository.folder);
  }
  return freed;
}

}  // namespace omnirt::hub
