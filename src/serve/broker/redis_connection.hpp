#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/broker/redis_url.hpp"

struct redisContext;
struct redisReply;

namespace omnirt::serve {

// What Redis answered. Accessors for another kind of answer than this one throw BrokerRefused.
class RedisReply {
 public:
  RedisReply() = default;
  explicit RedisReply(redisReply* owned);
  bool is_nil() const;
  int64_t integer() const;
  // Of a number, its digits; "" of nil.
  std::string text() const;
  size_t size() const;  // of an array; 0 of nil
  RedisReply at(size_t index) const;

 private:
  RedisReply(std::shared_ptr<redisReply> root, const redisReply* at);
  std::shared_ptr<redisReply> root_;
  const redisReply* reply_ = nullptr;
};

// One connection to a Redis, made when it is needed and made again when it is lost. Not safe to use
// from several threads.
class RedisConnection {
 public:
  using Words = std::vector<std::string_view>;
  // `patience_ms`: how long a call tries to reach Redis before it throws BrokerLost.
  RedisConnection(RedisUrl url, int64_t patience_ms);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Called on each new connection.
  std::function<void()> on_connected;
  // Sends a command again until it is answered, with growing pauses: its effect may take place
  // twice where an answer was lost. An answer may take `wait_ms` longer than others. Throws
  // BrokerLost or BrokerRefused (redis_errors.hpp).
  RedisReply call(const Words& words, int64_t wait_ms = 0);
  // The same of a script, which is sent whole where Redis does not know it.
  RedisReply run(const std::string& script, const Words& arguments);
  // Ends a call that waits, from another thread, and each later one.
  void stop() { stopped_ = true; }
  int64_t connections() const { return connections_; }

 private:
  void connect();
  void greet();
  RedisReply send(const Words& words, int64_t wait_ms);
  [[noreturn]] void refused(const std::string& text);
  bool may_try_again(int64_t began_ms, int64_t& pause_ms) const;

  RedisUrl url_;
  int64_t patience_ms_;
  std::unique_ptr<redisContext, void (*)(redisContext*)> context_;
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> connections_{0};
  double given_up_ms_ = -1e9;
};

}  // namespace omnirt::serve
