#pragma once
#include "serve/queue_clock.hpp"

namespace omnirt::serve {

// A clock that a test sets.
class VirtualClock final : public QueueClock {
 public:
  int64_t now_ms() const override { return now; }
  int64_t now = 1'000'000;
};

}  // namespace omnirt::serve
