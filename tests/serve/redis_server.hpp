#pragma once
#include <sys/types.h>

#include <string>

#include "serve/broker/redis_url.hpp"
#include "serve/temporary.hpp"

namespace omnirt::serve {

// A Redis of a test's own on a free port of this machine, with an append-only file that is on the
// disk before each answer.
class RedisServer {
 public:
  explicit RedisServer(std::string password = "");
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;
  // Whether there is a redis-server here; without one tests skip.
  static bool installed();
  static constexpr const char* missing = "redis-server is not installed (scripts/setup does it)";

  RedisUrl url() const;
  std::string address() const;
  void start();  // and waits until it answers
  void kill();   // as a machine that loses power

 private:
  Temporary folder_{Temporary::in_memory()};
  std::string password_;
  uint16_t port_ = 0;
  pid_t process_ = -1;
};

}  // namespace omnirt::serve
