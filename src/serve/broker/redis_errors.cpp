#include "serve/broker/redis_errors.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace omnirt::serve {
namespace {

using Answer = RedisError::Answer;

struct Row {
  std::string_view code;
  Answer answer;
};

// From the documentation of the commands, of replication, persistence, ACLs, eviction and cluster.
constexpr std::array rows{
    Row{"LOADING", Answer::retry},         // reads its files after a start
    Row{"BUSY", Answer::retry},            // runs another client's script
    Row{"TRYAGAIN", Answer::retry},        // a cluster moves the keys
    Row{"CLUSTERDOWN", Answer::retry},     // a cluster elects a new master
    Row{"MASTERDOWN", Answer::reconnect},  // a replica that lost its master
    Row{"READONLY", Answer::reconnect},    // a replica, which a failover made of a master
    Row{"UNBLOCKED", Answer::reconnect},   // the same, while a command waited
    Row{"OOM", Answer::wait},              // at maxmemory
    Row{"MISCONF", Answer::wait},          // cannot write its snapshots or its append-only file
    Row{"NOREPLICAS", Answer::wait},       // fewer replicas than min-replicas-to-write
    Row{"NOAUTH", Answer::wait},           // the password was set or changed
    Row{"WRONGPASS", Answer::wait},        // the same
    Row{"NOPERM", Answer::wait},           // the user's ACL was changed
    Row{"DENIED", Answer::wait},           // protected mode
    Row{"MOVED", Answer::wait},            // a cluster, which is not supported
    Row{"ASK", Answer::wait},              // the same
    Row{"CROSSSLOT", Answer::wait},        // the same
};

bool is_code(std::string_view word) {
  return word.size() >= 2 &&
         std::ranges::all_of(word, [](unsigned char each) { return std::isupper(each) != 0; });
}

// Redis 6.2 puts the error of a script's command behind "ERR Error running script (...): ... -".
std::string_view innermost(std::string_view text) {
  if (!text.starts_with("ERR Error running script")) return text;
  for (const std::string_view before : {": -", ": "}) {
    const size_t at = text.rfind(before);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = text.substr(at + before.size());
    if (is_code(rest.substr(0, rest.find(' ')))) return rest;
  }
  return text;
}

}  // namespace

RedisError read_redis_error(std::string_view text) {
  if (text.starts_with("ERR max number of clients reached"))
    return {.code = "ERR", .answer = Answer::reconnect};
  const std::string_view error = innermost(text);
  const std::string_view word = error.substr(0, error.find(' '));
  const auto row = std::ranges::find(rows, word, &Row::code);
  return {.code = std::string(is_code(word) ? word : "ERR"),
          .answer = row == rows.end() ? Answer::refused : row->answer};
}

std::string without_script(std::string_view text) {
  return std::string(innermost(text.substr(0, text.find(" script: "))));
}

}  // namespace omnirt::serve
