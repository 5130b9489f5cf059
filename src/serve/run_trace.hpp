#pragma once
#include <optional>
#include <string>

#include "serve/dispatcher.hpp"
#include "serve/trace_exporter.hpp"

namespace omnirt::serve {

// Where a run is made, of one that a worker makes.
struct RunPlace {
  std::string worker{};    // its id; "": this is the server
  std::string part{};      // of the run, that it begins with
  bool continues = false;  // from the state that another worker left
};

// The spans of one run of a job: the job, its wait in the queue, the stages and the steps. Used on
// the run's thread. Without an exporter it does nothing.
class RunTrace {
 public:
  // `traceparent` is of the request that the job came with; "": the job's trace begins here.
  RunTrace(TraceExporter* exporter, const std::string& traceparent, const Job& job,
           const RunPlace& place = {});
  // The run comes to a block, or has done a step; then it may be paused, until `resumes`.
  void at(const JobProgress& progress);
  void resumes();
  // `error`: what it failed with, or "".
  void end(const std::string& error);

 private:
  void add(Span span);
  void end_stage(int64_t now);

  TraceExporter* exporter_;
  TraceContext request_, job_;  // whose spans are the parents
  Span whole_;
  std::optional<Span> stage_;
  int64_t steps_ = 0;       // done in the stage
  int64_t resumed_ns_ = 0;  // when the run got its turn
};

}  // namespace omnirt::serve
