#pragma once
#include <functional>

namespace omnirt::cli {

// What serves ends by: the first SIGTERM, SIGINT or SIGHUP lets it come to an end, the second ends
// the process at once.
void take_signals();
// Waits for the first; `drain` is then called, and `hand_back` before the process is ended by the
// second, which may come while `drain` is under way.
void serve_until_signal(const std::function<void()>& drain, const std::function<void()>& hand_back);

}  // namespace omnirt::cli
