#include "serve/broker/redis_url.hpp"

#include <fmt/format.h>

#include <charconv>

#include "base/error.hpp"
#include "io/file.hpp"
#include "serve/http.hpp"

namespace omnirt::serve {
namespace {

constexpr size_t max_url_bytes = 2048;
constexpr size_t max_password_bytes = 4096;
constexpr const char* form = "give redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE] or unix://PATH";

// What stands before an @ may be a password.
std::string without_secret(const std::string& text) {
  const size_t scheme = text.find("://"), at = text.rfind('@');
  if (at == std::string::npos) return text.substr(0, 200);
  const std::string start = scheme < at ? text.substr(0, scheme + 3) : "";
  return start + "...@" + text.substr(at + 1, 200);
}

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw InvalidRequest({"--redis", without_secret(text), why, form});
}

int number_of(const std::string& whole, const std::string& digits, int most, const char* what) {
  int number = -1;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  if (error != std::errc() || end != last || number < 0 || number > most)
    refuse(whole, fmt::format("the {} is no number of 0 to {}", what, most));
  return number;
}

void read_user(std::string_view text, RedisUrl& url) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    url.password = url_decoded(text);  // as redis-cli reads it
    return;
  }
  url.user = url_decoded(text.substr(0, colon));
  url.password = url_decoded(text.substr(colon + 1));
}

// "HOST:PORT", "[::1]:PORT", or without the port.
void read_address(const std::string& whole, std::string text, RedisUrl& url) {
  const size_t bracket = text.find(']');
  const size_t colon = text.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos) {
    url.port = static_cast<uint16_t>(number_of(whole, text.substr(colon + 1), 65'535, "port"));
    text.resize(colon);
  }
  if (bracket != std::string::npos && text.starts_with('[')) text = text.substr(1, bracket - 1);
  if (text.empty()) refuse(whole, "names no host");
  url.host = text;
}

}  // namespace

std::string RedisUrl::shown() const {
  if (!socket.empty()) return "unix://" + socket;
  return fmt::format("redis://{}:{}/{}", host, port, database);
}

RedisUrl parse_redis_url(const std::string& text) {
  if (text.size() > max_url_bytes || text.find('\0') != std::string::npos)
    refuse("", fmt::format("is longer than {} bytes", max_url_bytes));
  RedisUrl url;
  if (text.starts_with("unix://")) {
    url.socket = text.substr(7);
    if (url.socket.empty()) refuse(text, "names no socket");
    return url;
  }
  if (text.starts_with("rediss://")) {
    throw Unsupported({"--redis", without_secret(text), "speaks TLS, which this build does not",
                       "put a TLS tunnel (stunnel, a sidecar) before Redis, or keep the two in a "
                       "network of their own"});
  }
  if (!text.starts_with("redis://")) refuse(text, "is no address of a Redis");
  std::string rest = text.substr(8);
  if (const size_t at = rest.rfind('@'); at != std::string::npos) {
    read_user(std::string_view(rest).substr(0, at), url);
    rest = rest.substr(at + 1);
  }
  if (const size_t slash = rest.find('/'); slash != std::string::npos) {
    const std::string database = rest.substr(slash + 1);
    if (!database.empty()) url.database = number_of(text, database, 65'535, "database");
    rest.resize(slash);
  }
  read_address(text, rest, url);
  return url;
}

RedisUrl read_redis_url(const std::string& text, const std::string& password_file) {
  RedisUrl url = parse_redis_url(text);
  if (password_file.empty()) return url;
  url.password = io::read_file(password_file, max_password_bytes);
  while (url.password.ends_with('\n') || url.password.ends_with('\r')) url.password.pop_back();
  return url;
}

}  // namespace omnirt::serve
