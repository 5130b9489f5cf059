#pragma once
#include <string>

#include "serve/broker/broker.hpp"
#include "serve/run_job.hpp"

namespace omnirt::serve {

// Runs jobs that a broker gives, on a session: as far as this worker's parts reach, from the state
// that another worker left, where there is one.
class RunParts {
 public:
  struct Options {
    std::set<WorkPart> parts{};
    std::string memory_budget{};             // of a run; "": none
    std::string device{};                    // of jobs that name none
    int64_t max_bytes = int64_t{256} << 20;  // of a run's artifacts, or its state
    std::function<void(const RunReport&)> on_report{};
    TraceExporter* traces = nullptr;
  };
  RunParts(Session& session, JobFiles& files, const ServedModels& models, Options options);

  struct Made {
    std::string result{};            // of a run that is done
    std::optional<WorkPart> next{};  // of one that is not, the part that comes next
    bool needs_whole = false;        // it cannot be cut here, and was not begun
    FileBytes files{};               // artifacts, or the state
    int64_t bytes = 0;
  };
  // `given` are the job's files: what was sent, and the state. Throws as Session::run; RunFailed
  // where what it made is more than may be sent.
  Made operator()(const SharedJob& shared, const FileBytes& given, const std::string& worker,
                  RunControl& control);

 private:
  PlacedRequest place(const SharedJob& shared, const FileBytes& given);
  std::optional<WorkPart> cut_after(WorkPart part) const;
  FileBytes collect(const std::string& job, const std::vector<std::string>& names) const;
  bool can_be_cut(const PlacedRequest& placed);

  Session& session_;
  JobFiles& files_;
  const ServedModels& models_;
  Options options_;
};

}  // namespace omnirt::serve
