#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "hub/attempts.hpp"
#include "hub/choose_files.hpp"
#include "hub/settings.hpp"

namespace omnirt::hub {

struct PullRequest {
  std::string id;  // "organisation/name"
  std::string revision = "main";
  Choice choice;
  size_t at_once = 4;  // files that are transferred side by side
};

struct PullProgress {
  uint64_t bytes = 0, total = 0;  // in the cache, of what was chosen
  size_t files = 0, all_files = 0;
};

// Called on threads of the transfers, one at a time.
struct PullHooks {
  std::function<void(const PullProgress&)> progress = [](const PullProgress&) {};
  std::function<void(const std::string& path)> waiting = [](const std::string&) {};
  Wait wait = sleep_for;
};

// What a pull would fetch, or has fetched.
struct Pulled {
  std::string commit;
  std::filesystem::path snapshot;
  std::vector<RemoteFile> files;
  uint64_t bytes = 0;         // of all files
  uint64_t bytes_to_get = 0;  // that were not in the cache
};

// What `pull` would fetch; only listings, configs and indexes are read, and configs stay in the
// cache. Throws as pull.
Pulled plan_pull(const Settings& settings, const PullRequest& request, const PullHooks& hooks);

// Brings the files into the cache. The snapshot's name (refs/REVISION) is written last: until then
// no run finds a part of a model under it. What ends early leaves whole blobs and beginnings of
// blobs, from which the next pull goes on. Nothing is written where all is in the cache; with
// HF_HUB_OFFLINE the hub is not asked. Throws InvalidRequest for what the hub refuses, for a disk
// with too little room, and with HF_HUB_OFFLINE for what the cache does not hold; InvalidFile for
// content that does not match; RunFailed for a disk or connection that fails for good.
Pulled pull(const Settings& settings, const PullRequest& request, const PullHooks& hooks);

}  // namespace omnirt::hub
