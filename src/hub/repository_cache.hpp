#pragma once
#include <filesystem>
#include <string>

#include "hub/listing.hpp"
#include "io/file.hpp"

namespace omnirt::hub {

// A repository's place in the local cache, laid out as huggingface_hub does (file_download.py):
//   models--ORG--NAME/blobs/DIGEST              what files hold, each once
//   models--ORG--NAME/blobs/DIGEST.incomplete   what has arrived of one
//   models--ORG--NAME/snapshots/COMMIT/PATH     links to blobs
//   models--ORG--NAME/refs/REVISION             the commit of a branch or tag
//   .locks/models--ORG--NAME/DIGEST.lock        held by whoever writes the blob
class RepositoryCache {
 public:
  RepositoryCache(const std::filesystem::path& cache, const std::string& id);

  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path blob(const RemoteFile& file) const;
  std::filesystem::path incomplete(const RemoteFile& file) const;
  std::filesystem::path lock(const RemoteFile& file) const;
  std::filesystem::path snapshot(const std::string& commit) const;

  // While it lives, nothing is taken out of the repository (hub/cached_repositories.hpp). Of a
  // cache that this user may not write, it holds nothing.
  io::Descriptor keep() const;
  // The file of a snapshot becomes a link to its blob, which must be there; one that is there
  // already is replaced if it leads elsewhere. Throws RunFailed.
  void link(const std::string& commit, const RemoteFile& file) const;
  // A branch's or tag's commit; a commit itself has no ref. Throws RunFailed.
  void set_revision(const std::string& revision, const std::string& commit) const;
  // The commit that the cache knows as a branch, tag or commit; "" where it has none.
  std::string commit_of(const std::string& revision) const;

 private:
  std::filesystem::path folder_, locks_;
};

// The commit that a file of refs/ names.
std::string read_reference(const std::filesystem::path& file);

// The snapshot of `id` ("organisation/name") at branch main in the local cache, or an empty path.
std::filesystem::path find_snapshot(const std::string& id);

// Keeps other processes and threads from writing the same blob, by the lock that huggingface_hub
// takes (flock). Waits for it; `waiting` is called once where it has to.
class BlobLock {
 public:
  template <class Waiting>
  BlobLock(const std::filesystem::path& file, const Waiting& waiting) {
    open(file);
    if (try_lock()) return;
    waiting();
    wait();
  }

 private:
  void open(const std::filesystem::path& file);
  bool try_lock() const;
  void wait() const;

  io::Descriptor fd_;
};

}  // namespace omnirt::hub
