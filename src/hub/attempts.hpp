#pragma once
#include <chrono>
#include <functional>
#include <optional>

#include "hub/connection.hpp"

namespace omnirt::hub {

// How something waits between two tries; tests do not.
using Wait = std::function<void(std::chrono::milliseconds)>;
void sleep_for(std::chrono::milliseconds time);

// When a transfer that fails is tried again: at once after it brought bytes, however often; five
// times without any, each after twice the time of the one before.
class Attempts {
 public:
  explicit Attempts(const Wait& wait) : wait_(&wait) {}

  void gained() { failed_ = 0; }
  // Waits; false where it is given up.
  bool again(std::chrono::milliseconds at_least = {});

 private:
  const Wait* wait_;
  int failed_ = 0;
};

// The time that an answer asks for before the next try (429 Too Many Requests, 503 and the like):
// its Retry-After in seconds, at most two minutes. Nothing where the answer is no such.
std::optional<std::chrono::milliseconds> asked_to_wait(const Answer& answer);

// Throws what the answer means where it has no content and another try does not help:
// InvalidRequest with what to do for 401, 403 and 404, RunFailed for others. `id` is the
// repository's.
void refuse_answer(const Answer& answer, const std::string& address, const std::string& id,
                   const Settings& settings);

// The whole content as text, tried again as Attempts does. Throws as refuse_answer; RunFailed where
// it is given up, or is longer than `max_bytes`.
std::string get_text(Connection& connection, const std::string& address, const std::string& id,
                     const Settings& settings, size_t max_bytes, const Wait& wait);

}  // namespace omnirt::hub
