#pragma once
#include <string>
#include <string_view>

namespace omnirt::serve {

// An error reply of Redis, by its documentation.
struct RedisError {
  enum class Answer {
    retry,      // passes soon: the same command is sent again
    reconnect,  // the same, through a new connection, which may reach another server
    wait,       // passes once an operator acts, or memory or replicas are back
    refused,    // the command will never succeed on what is stored
  };
  std::string code;  // "OOM", "WRONGTYPE"; "ERR" for errors without a code of their own
  Answer answer = Answer::refused;
};

// Errors raised within a script count as those of the command that the script called.
RedisError read_redis_error(std::string_view text);

// The text without the name of the script and the line, which Redis appends.
std::string without_script(std::string_view text);

}  // namespace omnirt::serve
