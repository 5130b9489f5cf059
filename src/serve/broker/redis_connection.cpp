#include "serve/broker/redis_connection.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>
#include <openssl/sha.h>
#include <spdlog/spdlog.h>
#include <sys/time.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.hpp"
#include "serve/broker/broker.hpp"
#include "serve/broker/redis_errors.hpp"

namespace omnirt::serve {
namespace {

constexpr int64_t connect_ms = 2000, answer_ms = 5000;
constexpr int64_t first_pause_ms = 20, longest_pause_ms = 1000;
// After a call was given up, others give up at once for so long: who waits for a server is told
// soon that it cannot serve.
constexpr double give_up_together_ms = 500;

timeval time_of(int64_t ms) {
  return {.tv_sec = ms / 1000, .tv_usec = (ms % 1000) * 1000};
}

[[noreturn]] void unexpected(const char* wanted) {
  throw BrokerRefused("ERR", fmt::format("Redis did not answer with {}", wanted));
}

std::string sha1_of(const std::string& text) {
  unsigned char digest[SHA_DIGEST_LENGTH];
  SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest);
  std::string hex;
  for (unsigned char each : digest) hex += fmt::format("{:02x}", each);
  return hex;
}

// Sending the command again soon does not help.
class BrokerWaits : public BrokerLost {
 public:
  using BrokerLost::BrokerLost;
};

}  // namespace

RedisReply::RedisReply(redisReply* owned)
    : root_(owned, [](redisReply* each) { freeReplyObject(each); }), reply_(owned) {}
RedisReply::RedisReply(std::shared_ptr<redisReply> root, const redisReply* at)
    : root_(std::move(root)), reply_(at) {}

bool RedisReply::is_nil() const {
  return !reply_ || reply_->type == REDIS_REPLY_NIL;
}

int64_t RedisReply::integer() const {
  if (is_nil() || reply_->type != REDIS_REPLY_INTEGER) unexpected("a number");
  return reply_->integer;
}

std::string RedisReply::text() const {
  if (is_nil()) return "";
  if (reply_->type == REDIS_REPLY_INTEGER) return std::to_string(reply_->integer);
  if (reply_->type != REDIS_REPLY_STRING && reply_->type != REDIS_REPLY_STATUS)
    unexpected("a text");
  return {reply_->str, reply_->len};
}

size_t RedisReply::size() const {
  if (is_nil()) return 0;
  if (reply_->type != REDIS_REPLY_ARRAY) unexpected("a list");
  return reply_->elements;
}

RedisReply RedisReply::at(size_t index) const {
  if (index >= size()) unexpected("as long a list");
  return {root_, reply_->element[index]};
}

RedisConnection::RedisConnection(RedisUrl url, int64_t patience_ms)
    : url_(std::move(url)), patience_ms_(patience_ms), context_(nullptr, redisFree) {}
RedisConnection::~RedisConnection() = default;

void RedisConnection::connect() {
  context_.reset(url_.socket.empty()
                     ? redisConnectWithTimeout(url_.host.c_str(), url_.port, time_of(connect_ms))
                     : redisConnectUnixWithTimeout(url_.socket.c_str(), time_of(connect_ms)));
  if (!context_) throw BrokerLost("no memory for a connection to Redis");
  if (context_->err) {
    const std::string why = context_->errstr;
    context_.reset();
    throw BrokerLost("Redis cannot be reached: " + why);
  }
  redisEnableKeepAlive(context_.get());
  try {
    greet();
    ++connections_;
    if (on_connected) on_connected();
  } catch (...) {
    context_.reset();
    throw;
  }
}

// A Redis that does not let this process in may do so once it is set up again.
void RedisConnection::greet() {
  try {
    if (!url_.password.empty() && url_.user.empty())
      send({"AUTH", url_.password}, 0);
    else if (!url_.password.empty())
      send({"AUTH", url_.user, url_.password}, 0);
    if (url_.database > 0) send({"SELECT", std::to_string(url_.database)}, 0);
  } catch (const BrokerRefused& error) {
    throw BrokerWaits(error.what());
  }
}

RedisReply RedisConnection::send(const Words& words, int64_t wait_ms) {
  std::vector<const char*> starts;
  std::vector<size_t> sizes;
  for (const std::string_view each : words) {
    starts.push_back(each.data());
    sizes.push_back(each.size());
  }
  redisSetTimeout(context_.get(), time_of(answer_ms + wait_ms));
  auto* answer = static_cast<redisReply*>(redisCommandArgv(
      context_.get(), static_cast<int>(words.size()), starts.data(), sizes.data()));
  if (!answer) {
    const std::string why = context_->errstr;
    context_.reset();
    throw BrokerLost("Redis does not answer: " + why);
  }
  RedisReply reply(answer);
  if (answer->type != REDIS_REPLY_ERROR) return reply;
  refused({answer->str, answer->len});
}

// What a refused AUTH was given is not in what Redis says.
void RedisConnection::refused(const std::string& text) {
  using Answer = RedisError::Answer;
  const RedisError error = read_redis_error(text);
  const std::string why = "Redis refuses: " + without_script(text);
  if (error.answer == Answer::refused) throw BrokerRefused(error.code, why);
  if (error.answer == Answer::reconnect) context_.reset();
  if (error.answer == Answer::wait) throw BrokerWaits(why);
  throw BrokerLost(why);
}

bool RedisConnection::may_try_again(int64_t began_ms, int64_t& pause_ms) const {
  const auto now = static_cast<int64_t>(now_ms());
  if (stopped_ || now - began_ms + pause_ms > patience_ms_) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
  pause_ms = std::min(pause_ms * 2, longest_pause_ms);
  return true;
}

RedisReply RedisConnection::call(const Words& words, int64_t wait_ms) {
  const auto began = static_cast<int64_t>(now_ms());
  int64_t pause = first_pause_ms;
  if (!context_ && now_ms() < given_up_ms_ + give_up_together_ms)
    throw BrokerLost("Redis cannot be reached");
  for (;;) {
    if (stopped_) throw BrokerLost("the process ends");
    try {
      if (!context_) connect();
      return send(words, wait_ms);
    } catch (const BrokerWaits&) {
      throw;
    } catch (const BrokerLost& error) {
      spdlog::debug("{}: {}", url_.shown(), error.what());
      if (may_try_again(began, pause)) continue;
      given_up_ms_ = now_ms();
      throw;
    }
  }
}

RedisReply RedisConnection::run(const std::string& script, const Words& arguments) {
  const std::string digest = sha1_of(script);
  Words words{"EVALSHA", digest, "0"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  try {
    return call(words);
  } catch (const BrokerRefused& error) {
    if (error.code() != "NOSCRIPT") throw;
  }
  words[0] = "EVAL";
  words[1] = script;
  return call(words);
}

}  // namespace omnirt::serve
