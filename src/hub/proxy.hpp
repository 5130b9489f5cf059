#pragma once
#include <optional>
#include <string>

namespace omnirt::hub {

// The proxy through which libcurl requests an address, as its environment variables say.
struct Proxy {
  std::string variable;  // the one that names it: https_proxy, http_proxy, all_proxy
  std::string address;   // without the user and password that it may hold
};

// None where no variable is set for the address's scheme, or NO_PROXY lists its host.
std::optional<Proxy> proxy_of(const std::string& address);

// "https://host/..." is "host", with its port if it names one.
std::string host_of(const std::string& address);

}  // namespace omnirt::hub
