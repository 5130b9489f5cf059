#include "serve/queue_clock.hpp"

#include <chrono>

#include "base/clock.hpp"

namespace omnirt::serve {

SystemQueueClock::SystemQueueClock() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  origin_ms_ = std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count() -
               static_cast<int64_t>(omnirt::now_ms());
}

int64_t SystemQueueClock::now_ms() const {
  return origin_ms_ + static_cast<int64_t>(omnirt::now_ms());
}

}  // namespace omnirt::serve
