#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/error.hpp"
#include "hub/settings.hpp"

namespace omnirt::hub {

// The transfer ended before its end, or did not begin: another try may succeed.
class ConnectionLost : public RunFailed {
 public:
  using RunFailed::RunFailed;
};

// The last answer of a request, after redirections.
struct Answer {
  int status = 0;
  std::map<std::string, std::string> headers;  // by names in lower case

  std::string header(const std::string& name) const;
  // Whether its body is what was asked for: 200, or 206 of a part.
  bool has_content() const;
};

// What is called with each piece of the content; what it throws ends the transfer. Bodies of other
// answers are dropped.
using Sink = std::function<void(const Answer&, std::span<const std::byte>)>;

// One connection to the hub, and to where it redirects (five times at most; the token stays with
// the hub's own host, and https is not left for http). Kept open between requests. For one thread
// at a time.
class Connection {
 public:
  explicit Connection(const Settings& settings);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // GET from byte `from` on. Throws ConnectionLost, what `sink` throws, and RunFailed where no
  // other try helps (a certificate that does not hold, too many redirections).
  Answer get(const std::string& address, uint64_t from, const Sink& sink);

 private:
  struct Transfer;
  void prepare(const std::string& address, uint64_t from, Transfer& transfer);
  static size_t on_header(char* text, size_t size, size_t count, void* transfer);
  static size_t on_body(char* bytes, size_t size, size_t count, void* transfer);

  void* curl_;
  void* headers_ = nullptr;  // the request's
  bool encrypted_;           // the endpoint is: nothing may be fetched otherwise
};

}  // namespace omnirt::hub
