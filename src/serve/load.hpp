#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace omnirt::serve {

// Load on a server, as a plan and as figures of what came of it: pure functions, with no clock and
// no network (these are in http_load).

inline constexpr size_t most_load_requests = 100'000;
inline constexpr int64_t most_load_seconds = 86'400;
inline constexpr size_t most_load_kinds = 64;

// A server that a user names: "http://localhost:8000".
struct HttpTarget {
  std::string host{};
  std::string port{};
  std::string key{};  // "": none
};
// Throws InvalidRequest where the text is no such address.
HttpTarget read_target(const std::string& url);

// Requests that are counted together: of one number of steps and size.
struct LoadKind {
  std::string name{};
  double weight = 1;  // of a mix; their sum is free
  Json request{};     // of a trace each line has its own
  double own_ms = 0;  // that the request takes alone, as measured
};

// One request of a plan: when it is sent, from the first instant, whatever became of those before.
struct LoadArrival {
  double at_ms = 0;
  size_t kind = 0;
};

// "50:4,40:20:128x96,10:50": shares of requests with their steps and, if given, their sizes, over
// `base`. Throws InvalidRequest.
std::vector<LoadKind> read_mix(std::string_view text, const Json& base);

// Arrivals of a Poisson process of `per_second`, each of a kind drawn by weight; the same for the
// same seed on every machine. As many as `most`, or as come within `seconds`.
std::vector<LoadArrival> poisson_arrivals(const std::vector<LoadKind>& kinds, double per_second,
                                          size_t most, double seconds, uint64_t seed);
// Requests per second that are `load` of what one run at a time can do: load / the mean own_ms.
double rate_of_load(const std::vector<LoadKind>& kinds, double load);

// A trace: a line {"at_ms": 120, "kind": "short", "request": {...}} per request, in any order, its
// request over `base`. Lines of one kind have one request.
struct LoadTrace {
  std::vector<LoadKind> kinds;
  std::vector<LoadArrival> arrivals;  // in order of time
};
// Throws InvalidFile and InvalidRequest, which name the line.
LoadTrace read_trace(std::string_view text, const std::string& where, const Json& base);

// What came of one arrival.
struct LoadOutcome {
  LoadArrival arrival;
  double ms = 0;   // from at_ms to the end of the answer
  int status = 0;  // 0: there was no answer
};

// {requests, statuses, seconds, per_second, attainment, answered_attainment, kinds: [{name, own_ms,
// requests, answered, attainment, p50_ms, p99_ms}]}. A request attains its objective where it was
// answered with 200 within `factor` times its kind's own_ms; one that was refused does not. Times
// are of those that were answered with 200.
Json load_figures(const std::vector<LoadKind>& kinds, const std::vector<LoadOutcome>& outcomes,
                  double factor);
// The value below which a share of them lies (nearest rank); 0 of none.
double quantile(std::vector<double> values, double share);

}  // namespace omnirt::serve
