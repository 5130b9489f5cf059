#pragma once
#include <string>
#include <vector>

#include "engine/session.hpp"

namespace omnirt::cli {

// How often a request is run, and how many at a time.
struct BenchPlan {
  int64_t total = 5;
  int64_t concurrency = 1;
  int64_t warmup = 1;
};

// What the measured runs took. Times are wall times in milliseconds.
struct BenchResult {
  std::vector<RunReport> reports;
  std::vector<RunReport> warmup_reports;
  double wall_ms = 0;  // from the start of the first measured run to the end of the last

  // {plan, runs: {total_ms, load_ms, stages, steps: {min, median, p95, max}}, images_per_second,
  // peak_rss_bytes, levels}
  Json to_json(const BenchPlan& plan) const;
};

// Runs `request` warmup + total times, `concurrency` at a time on one session. The images go to a
// folder of their own, which is removed. Throws what the first failed run threw.
BenchResult run_bench(Session& session, const GenerateRequest& request, bool strict,
                      const BenchPlan& plan);

}  // namespace omnirt::cli
