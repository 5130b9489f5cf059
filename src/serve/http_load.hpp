#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/cancel.hpp"
#include "serve/load.hpp"

namespace omnirt::serve {

struct TimedRequest {
  double at_ms = 0;  // from the beginning
  std::string method, path;
  std::string body;  // JSON
};

struct TimedAnswer {
  double ms = 0;     // from at_ms to the end of the answer
  int status = 0;    // 0: none came; `body` says why
  std::string body;  // of answers other than 200, its beginning
};

struct LoadLimits {
  double answer_seconds = 600;  // for one answer
  size_t open = 1000;           // connections; a request beyond these is not sent (status 0)
};

// Sends each request at its time over a connection of its own, and waits for all answers. One
// thread. Throws Cancelled soon after `cancel`.
std::vector<TimedAnswer> send_all(const HttpTarget& target,
                                  const std::vector<TimedRequest>& requests,
                                  const LoadLimits& limits, const CancelToken& cancel);

}  // namespace omnirt::serve
