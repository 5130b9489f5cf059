#pragma once
#include <map>
#include <string>

#include "base/report.hpp"
#include "pipeline/loaded_pipeline.hpp"
#include "runtime/component_run.hpp"

namespace omnirt {

// How the networks of one run are run: the level of each, the calls and their fallbacks. Belongs to
// one run and one thread.
class LevelRuns {
 public:
  // Chooses each network's level. `total` counts for all runs of an engine; may be null.
  // `trace`: describe() tells what each op took.
  LevelRuns(const LoadedPipeline& pipeline, const LevelPolicy& policy, FallbackCounter* total,
            bool trace = false);
  LevelRuns(const LevelRuns&) = delete;
  LevelRuns& operator=(const LevelRuns&) = delete;

  // Throws RunFailed with the reasons where a network has no level that the policy allows.
  void check() const;
  // Makes the weights that the run's adapters change, in the form that each network's level wants.
  void apply_overlays();
  // ComponentRun::call of the component `name`.
  Values call(const std::string& name, const ComponentCall& call, const Values& inputs,
              const CancelToken* cancel);

  // A loop has ended: tells the report what the networks kept between its steps, and drops it.
  void end_loop(RunReport& report);

  // backend_timeline, fallbacks, device_placement, as they stand.
  void describe(RunReport& report) const;

 private:
  const LoadedPipeline& pipeline_;
  FallbackCounter* total_;
  FallbackCounter counter_;
  std::map<std::string, ComponentRun> runs_;
};

}  // namespace omnirt
