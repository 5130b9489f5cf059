#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "engine/session.hpp"

namespace omnirt::cli {

// What `serve` and `worker` have in common: processes that run until a signal ends them.
struct ServingFlags {
  int64_t drain_seconds = 30, threads = 0;
  std::string otlp_endpoint;  // "": no traces
};
void add_serving_flags(CLI::App& command, ServingFlags& flags);

// Bytes that a flag gives. Throws InvalidRequest.
uint64_t bytes_of_flag(const char* flag, const std::string& text);

// Threads, the log and signals, before what serves is made; `name` is the log's.
void begin_serving(Session& session, const ServingFlags& flags, const std::string& name);

struct Served {
  std::function<bool(int64_t ms)> drain;  // true: what had begun is over
  std::function<void()> stop, hand_back;
};
// Until the first signal, and then to the end of what runs, or the second.
void serve_to_the_end(const ServingFlags& flags, const Served& served);

}  // namespace omnirt::cli
