#pragma once
#include <cstdint>

namespace omnirt::serve {

// What the queue takes for the time. Never goes back while it lives.
class QueueClock {
 public:
  virtual ~QueueClock() = default;
  virtual int64_t now_ms() const = 0;
};

// Milliseconds since 1970 as the system's clock had them when this was made, from there on by the
// steady clock: a system's clock that is set, forward or back, moves no deadline of this process.
class SystemQueueClock final : public QueueClock {
 public:
  SystemQueueClock();
  int64_t now_ms() const override;

 private:
  int64_t origin_ms_;
};

}  // namespace omnirt::serve
