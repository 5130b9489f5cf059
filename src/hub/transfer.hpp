#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "hub/attempts.hpp"
#include "hub/repository_cache.hpp"

namespace omnirt::hub {

// What a file's transfer tells on its way, on its own thread; what it throws ends the transfer, and
// what has arrived stays for the next one.
struct TransferHooks {
  // Bytes that are in the cache now and were not at the last call; negative where some were
  // dropped.
  std::function<void(int64_t)> moved = [](int64_t) {};
  // Another process writes the blob, and this one waits for it.
  std::function<void()> waiting = [] {};
  Wait wait = sleep_for;
};

// Where and as whom a repository's files are fetched.
struct Source {
  const Settings* settings;
  std::string id;
  std::string commit;

  std::string address_of(const RemoteFile& file) const;
};

// The file's blob, whole: one that is in the cache already is taken as it is, one that was begun is
// continued where the server can, and what has arrived is checked by size and digest before it
// takes the blob's name. Throws InvalidRequest as refuse_answer; InvalidFile where the bytes are
// not those that the hub lists, twice; RunFailed where the disk or the connection fails for good.
void fetch_blob(Connection& connection, const Source& source, const RepositoryCache& cache,
                const RemoteFile& file, const TransferHooks& hooks);

}  // namespace omnirt::hub
