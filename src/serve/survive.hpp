#pragma once
#include <spdlog/spdlog.h>

#include <exception>

namespace omnirt::serve {

// Does work on a thread that serves others too: an exception is logged, and ends neither the thread
// nor the process. True if there was none.
template <class Work>
bool survive(const char* what, const Work& work) noexcept {
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    spdlog::error("{}: {}", what, error.what());
  } catch (...) {
    spdlog::error("{}: an unknown exception", what);
  }
  return false;
}

}  // namespace omnirt::serve
