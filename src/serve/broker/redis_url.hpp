#pragma once
#include <cstdint>
#include <string>

namespace omnirt::serve {

// Where a Redis is: "redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]", or "unix://PATH". What is
// written in it is percent-decoded.
struct RedisUrl {
  std::string host = "localhost";
  uint16_t port = 6379;
  std::string socket{};  // a path, in place of host and port
  std::string user{}, password{};
  int database = 0;
  // Without user and password, for logs and errors.
  std::string shown() const;
};

// Throws InvalidRequest, in whose text no password stands; Unsupported of rediss:// (TLS).
RedisUrl parse_redis_url(const std::string& text);
// The same with a password from a file, where one is named ("": none); a newline at its end is not
// part of it.
RedisUrl read_redis_url(const std::string& text, const std::string& password_file);

}  // namespace omnirt::serve
