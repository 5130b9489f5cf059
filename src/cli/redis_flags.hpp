#pragma once
#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "serve/broker/redis_url.hpp"

namespace omnirt::cli {

// Where jobs are shared, for `serve` and `worker`.
struct RedisFlags {
  std::string address, password_file;
  double lease_seconds = 3;
  // Nothing where none is named. Throws as read_redis_url.
  std::optional<serve::RedisUrl> url() const;
  int64_t lease_ms() const { return static_cast<int64_t>(lease_seconds * 1000); }
};
void add_redis_flags(CLI::App& command, RedisFlags& flags);

}  // namespace omnirt::cli
