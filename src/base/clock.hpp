#pragma once
#include <chrono>

namespace omnirt {

// Milliseconds of a clock that never goes back, for the differences between two readings.
inline double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Age of this process in milliseconds, to the kernel's tick (10 ms); 0 where the system does not
// report it.
double process_age_ms();

}  // namespace omnirt
