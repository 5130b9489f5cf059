// The parts of HTTP that are texts.
#include <arpa/inet.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "base/error.hpp"
#include "serve/http.hpp"

namespace omnirt::serve {
namespace {

int hex_digit(char each) {
  if (each >= '0' && each <= '9') return each - '0';
  if (each >= 'a' && each <= 'f') return each - 'a' + 10;
  if (each >= 'A' && each <= 'F') return each - 'A' + 10;
  return -1;
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(),
                 [](unsigned char each) { return static_cast<char>(std::tolower(each)); });
  return made;
}

bool is_letter_or_digit(char each) {
  return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
         (each >= '0' && each <= '9');
}

bool is_host(std::string_view text) {
  return !text.empty() && text.size() <= 255 && std::all_of(text.begin(), text.end(), [](char at) {
    return is_letter_or_digit(at) || at == '-' || at == '.' || at == '_';
  });
}

std::optional<int> port_of(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port < 1 || port > 65535)
    return std::nullopt;
  return port;
}

bool is_ipv6(const std::string& text) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

int usual_port(std::string_view scheme) {
  return scheme == "http" ? 80 : scheme == "https" ? 443 : 0;
}

bool is_scheme(std::string_view text) {
  return !text.empty() && !(text.front() >= '0' && text.front() <= '9') &&
         std::all_of(text.begin(), text.end(), [](char each) {
           return is_letter_or_digit(each) || each == '+' || each == '-' || each == '.';
         });
}

}  // namespace

BodyFile::~BodyFile() {
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  if (gone) gone();
}

const std::string& HttpRequest::header(const std::string& name) const {
  static const std::string none;
  auto it = headers.find(name);
  return it == headers.end() ? none : it->second;
}

std::optional<Authority> parse_authority(std::string_view text) {
  Authority made;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    made.host = lower(text.substr(1, end - 1));
    if (!is_ipv6(made.host)) return std::nullopt;
    text.remove_prefix(end + 1);
  } else {
    const size_t end = std::min(text.find(':'), text.size());
    if (!is_host(text.substr(0, end))) return std::nullopt;
    made.host = lower(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (text.empty()) return made;
  const auto port = text.front() == ':' ? port_of(text.substr(1)) : std::nullopt;
  if (!port) return std::nullopt;
  made.port = *port;
  return made;
}

std::optional<WebOrigin> parse_origin(std::string_view text) {
  const size_t end = text.find("://");
  if (end == std::string_view::npos || !is_scheme(text.substr(0, end))) return std::nullopt;
  auto authority = parse_authority(text.substr(end + 3));
  if (!authority) return std::nullopt;
  WebOrigin made{lower(text.substr(0, end)), std::move(*authority)};
  if (made.authority.port == usual_port(made.scheme)) made.authority.port = 0;
  return made;
}

std::string WebOrigin::text() const {
  const bool ipv6 = authority.host.find(':') != std::string::npos;
  std::string made = scheme + "://" + (ipv6 ? "[" + authority.host + "]" : authority.host);
  if (authority.port != 0) made += ":" + std::to_string(authority.port);
  return made;
}

bool is_loopback(const std::string& host) {
  in_addr ipv4{};
  in6_addr ipv6{};
  if (::inet_pton(AF_INET, host.c_str(), &ipv4) == 1) return (ntohl(ipv4.s_addr) >> 24) == 127;
  if (::inet_pton(AF_INET6, host.c_str(), &ipv6) == 1)
    return std::memcmp(&ipv6, &in6addr_loopback, sizeof ipv6) == 0;
  return lower(host) == "localhost";
}

std::string address_of_host(const std::string& host) {
  if (lower(host) == "localhost") return "127.0.0.1";
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  return bracketed ? host.substr(1, host.size() - 2) : host;
}

bool is_header_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char each) {
    return (each < ' ' && each != '\t') || each == 0x7f;
  });
}

std::string url_decoded(std::string_view text) {
  std::string made;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      made += static_cast<char>(hex_digit(text[i + 1]) << 4 | hex_digit(text[i + 2]));
      i += 2;
    } else {
      made += text[i] == '+' ? ' ' : text[i];
    }
  }
  return made;
}

std::map<std::string, std::string> query_of(std::string_view text) {
  std::map<std::string, std::string> query;
  while (!text.empty()) {
    const size_t end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    const size_t equals = pair.find('=');
    if (!pair.empty()) {
      query[url_decoded(pair.substr(0, equals))] =
          equals == std::string_view::npos ? "" : url_decoded(pair.substr(equals + 1));
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return query;
}

std::string random_id() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw RunFailed("the system has no random numbers");
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

}  // namespace omnirt::serve
