#pragma once
#include <functional>
#include <string>

#include "engine/session.hpp"
#include "serve/dispatcher.hpp"
#include "serve/job_files.hpp"
#include "serve/job_request.hpp"
#include "serve/run_trace.hpp"
#include "serve/validated_jobs.hpp"

namespace omnirt::serve {

// Runs a job's request on a session, its files in the job's folder. The result:
// {artifacts: [{name, mime, kind, width, height, seed, bytes}], report, request}, without paths.
class RunOnSession {
 public:
  struct Options {
    std::string memory_budget{};  // of each run, as memory_budget has it; "": none
    std::function<void(const RunReport&)> on_report{};  // with each report, of failures too
    TraceExporter* traces = nullptr;
    RunPlace place{};
    ValidatedJobs* validated = nullptr;  // null: every run validates its request
  };
  RunOnSession(Session& session, JobFiles& files, const ServedModels& models, Options options)
      : session_(session), files_(files), models_(models), options_(std::move(options)) {}
  JobOutcome operator()(const Job& job, RunControl& control) const;
  // The result of a request that is placed already.
  Json run(const Job& job, const PlacedRequest& placed, RunControl& control) const;

 private:
  void run_traced(const Job& job, const PlacedRequest& placed, RunControl& control, RunTrace& trace,
                  RunReport& report) const;
  Json result_of(const Job& job, const PlacedRequest& placed, const RunReport& report) const;

  Session& session_;
  JobFiles& files_;
  const ServedModels& models_;
  Options options_;
};

// A report, or a settled request, without what is this machine's business: where its files are, and
// why its backends are unavailable.
Json public_report(Json report);

}  // namespace omnirt::serve
