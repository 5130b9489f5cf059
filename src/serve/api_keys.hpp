#pragma once
#include <array>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "serve/job.hpp"

namespace omnirt::serve {

enum class Scope { generate, metrics, adapters, admin };

// One who may use the server, and how much.
struct ApiKey {
  std::string name;                // the client, in logs and shares
  std::array<uint8_t, 32> digest;  // SHA-256 of the key
  std::set<Scope> scopes{Scope::generate};
  size_t jobs = 0;                     // queued and running at a time; 0: no limit
  int64_t requests_per_minute = 0;     // on all routes; 0: no limit
  Priority priority = Priority::high;  // the highest that it may ask for
};

inline constexpr size_t max_api_keys = 1024;

// The keys of a server. Safe to use from several threads.
class ApiKeys {
 public:
  // Reads {"keys": [{"name", "sha256", "scopes", "jobs", "requests_per_minute", "priority"}]} (JSON
  // or YAML). Throws InvalidRequest, InvalidFile.
  static std::vector<ApiKey> read(const std::filesystem::path& file);
  explicit ApiKeys(std::vector<ApiKey> keys);
  bool empty() const { return keys_.empty(); }

  // The key of which `text` is the secret, compared with every digest in full; null: none.
  const ApiKey* find(std::string_view text) const;
  // Counts a request of the key at `now_ms`. False, and when the next is taken: it has had its own.
  bool take(const ApiKey& key, int64_t now_ms, int64_t& retry_after_ms);

 private:
  struct Bucket {
    double left = 0;
    int64_t filled_ms = 0;
  };
  std::vector<ApiKey> keys_;
  std::mutex mutex_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace omnirt::serve

template <>
struct omnirt::ChoiceNames<omnirt::serve::Scope> {
  static constexpr std::array names{"generate", "metrics", "adapters", "admin"};
};
