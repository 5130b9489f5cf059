#pragma once
#include <optional>
#include <string>

#include "base/cancel.hpp"
#include "base/json.hpp"

namespace omnirt::cli {

// Load on a server that runs: requests that arrive by chance, or as a trace says, whatever becomes
// of those before.
struct ServeBenchPlan {
  std::string url;                   // http://HOST:PORT
  std::string key_file;              // holds the key; "": none
  std::string mix;                   // as serve::read_mix takes it; "": the request alone
  std::string trace;                 // a file of JSON lines; "": arrivals by chance
  std::optional<double> load, rate;  // of what the server can do; requests per second
  std::optional<int64_t> total;      // requests; if not given 100, or all of a trace
  double seconds = 600;              // in which requests are sent
  int64_t seed = 0;                  // of the arrivals
  double slo = 3;                    // times a request's own time
  int64_t warmup = 1;                // requests of each kind that are not measured
};

// Measures what each kind of request takes alone, then under load: serve::load_figures with the
// plan, and what /healthz took meanwhile. `request` is the JSON form. Throws InvalidRequest, and
// RunFailed where the server refuses what is measured alone.
Json bench_server(const ServeBenchPlan& plan, const Json& request, const CancelToken& cancel);
void print_serve_bench(const Json& result);

}  // namespace omnirt::cli
