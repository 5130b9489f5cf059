#include "hub/proxy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace omnirt::hub {
namespace {

std::string setting_of(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Of "host:port"; brackets of an IPv6 address stay.
std::string without_port(const std::string& host) {
  const size_t colon = host.rfind(':');
  const bool port = colon != host.npos && host.find(']', colon) == host.npos;
  return port ? host.substr(0, colon) : host;
}

// An entry covers a domain and all below it.
bool covers(std::string_view entry, std::string_view host) {
  while (entry.starts_with('.')) entry.remove_prefix(1);
  if (entry.empty() || !host.ends_with(entry)) return false;
  return host.size() == entry.size() || host[host.size() - entry.size() - 1] == '.';
}

bool is_excepted(const std::string& host) {
  std::string list = setting_of("no_proxy");
  if (list.empty()) list = setting_of("NO_PROXY");
  list = lower_case(list);
  if (list == "*") return true;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find_first_of(", ", at), list.size());
    if (covers(std::string_view(list).substr(at, end - at), host)) return true;
    at = end + 1;
  }
  return false;
}

std::string without_user(const std::string& address) {
  const size_t scheme = address.find("://"), host = scheme == address.npos ? 0 : scheme + 3;
  const size_t user = address.rfind('@');
  return user == address.npos || user < host ? address
                                             : address.substr(0, host) + address.substr(user + 1);
}

}  // namespace

std::string host_of(const std::string& address) {
  std::string host = address.substr(address.find("://") + 3);
  return host.substr(0, host.find_first_of("/?#"));
}

std::optional<Proxy> proxy_of(const std::string& address) {
  if (is_excepted(lower_case(without_port(host_of(address))))) return std::nullopt;
  // libcurl does not read HTTP_PROXY: a web server sets it from a client's header.
  const std::vector<const char*> names =
      address.starts_with("https://")
          ? std::vector{"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}
          : std::vector{"http_proxy", "all_proxy", "ALL_PROXY"};
  for (const char* name : names) {
    if (std::string value = setting_of(name); !value.empty())
      return Proxy{name, without_user(value)};
  }
  return std::nullopt;
}

}  // namespace omnirt::hub
