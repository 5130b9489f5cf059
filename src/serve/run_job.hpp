#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/session.hpp"
#include "serve/dispatcher.hpp"
#include "serve/job_files.hpp"
#include "serve/run_trace.hpp"

namespace omnirt::serve {

// Takes what lies before a name on this machine out of texts that leave it.
class PathHider {
 public:
  // `addresses`: of the broker, none of which leaves either.
  explicit PathHider(std::vector<std::filesystem::path> roots,
                     std::vector<std::string> addresses = {});
  // Each path in a text as the name at its end; in JSON in all texts.
  std::string hide(std::string text) const;
  Json hide(Json json) const;
  std::vector<Finding> hide(std::vector<Finding> findings) const;

 private:
  std::vector<std::string> roots_;  // with a slash, the longest first
  std::vector<std::string> addresses_;
};

// Runs a job's request on a session, its files in the job's folder. The result:
// {artifacts: [{name, mime, kind, width, height, seed, bytes}], report}, without paths.
// `on_report` is given each report, of failures too; `traces` (null: none) the spans.
class RunOnSession {
 public:
  RunOnSession(Session& session, JobFiles& files, const PathHider& hider,
               std::function<void(const RunReport&)> on_report = {},
               TraceExporter* traces = nullptr, RunPlace place = {})
      : session_(session),
        files_(files),
        hider_(hider),
        on_report_(std::move(on_report)),
        traces_(traces),
        place_(std::move(place)) {}
  JobOutcome operator()(const Job& job, RunControl& control) const;

 private:
  JobOutcome run(const Job& job, const Json& stored, RunControl& control, RunTrace& trace) const;
  JobOutcome outcome(const Job& job, const RunReport& report) const;

  Session& session_;
  JobFiles& files_;
  const PathHider& hider_;
  std::function<void(const RunReport&)> on_report_;
  TraceExporter* traces_;
  RunPlace place_;
};

// What a job's `request` text is, and was made from. `traceparent`: of the request that it came
// with, or "".
std::string job_request_text(const GenerateRequest& request, bool strict,
                             const std::string& traceparent = "");

}  // namespace omnirt::serve
