#include "base/error.hpp"
#include "serve/load.hpp"

namespace omnirt::serve {
namespace {

[[noreturn]] void refuse_url(const std::string& url) {
  throw InvalidRequest({"serve", url.substr(0, 200), "is no address of a server",
                        "give http://HOST:PORT, without a path"});
}

}  // namespace

HttpTarget read_target(const std::string& url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme) || url.size() > 300) refuse_url(url);
  std::string rest = url.substr(scheme.size());
  if (rest.ends_with('/')) rest.pop_back();
  const bool bracketed = rest.starts_with('[');
  const size_t host_end = bracketed ? rest.find(']') : rest.find(':');
  HttpTarget target{.host = rest.substr(0, host_end), .port = "80"};
  if (bracketed) {
    if (host_end == std::string::npos) refuse_url(url);
    target.host = rest.substr(1, host_end - 1);
  }
  const size_t colon = bracketed ? host_end + 1 : host_end;
  if (colon < rest.size()) {
    if (rest[colon] != ':') refuse_url(url);
    target.port = rest.substr(colon + 1);
  }
  const bool digits =
      !target.port.empty() && target.port.find_first_not_of("0123456789") == std::string::npos;
  if (target.host.empty() || !digits || target.port.size() > 5 ||
      target.host.find_first_of("/@?#% ") != std::string::npos)
    refuse_url(url);
  return target;
}

}  // namespace omnirt::serve
