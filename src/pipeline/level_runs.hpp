#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/report.hpp"
#include "base/shared_turn.hpp"
#include "pipeline/loaded_pipeline.hpp"
#include "runtime/component_run.hpp"

namespace omnirt {

// How the networks of one run are run: the level of each, the calls and their fallbacks. Belongs to
// one run and one thread.
class LevelRuns {
 public:
  struct Options {
    LevelPolicy policy{};
    FallbackCounter* total = nullptr;              // counts for all runs of an engine
    bool trace = false;                            // describe() reports what each op took
    std::map<std::string, Residency> residency{};  // of the components that are listed
    // The turn that this run shares with others now (JoinedCall); null: its turn is its own.
    std::function<SharedTurn*()> shared_turn{};
    bool remembers = false;  // results of prompts' calls are kept for later runs, and taken of them
  };
  // Chooses each network's level.
  LevelRuns(const LoadedPipeline& pipeline, Options options);
  LevelRuns(const LevelRuns&) = delete;
  LevelRuns& operator=(const LevelRuns&) = delete;

  // Throws RunFailed with the reasons where a network has no level that the policy allows.
  void check() const;
  // Makes the weights that the run's adapters change, in the form that each network's level wants.
  void apply_overlays();
  // ComponentRun::call of the component `name`.
  Values call(const std::string& name, const ComponentCall& call, const Values& inputs,
              const CancelToken* cancel);
  // In which a component's level wants its weights; after check().
  const ComputeForm& form(const std::string& name) const { return runs_.at(name).plan()->form; }
  Level level(const std::string& name) const { return runs_.at(name).level(); }
  // A call that is not made.
  struct Forecast {
    const std::string& component;
    const DryForward& call;  // what it would take
    const RowIds& rows;
    const Values& inputs;
  };
  using OnForecast = std::function<void(const Forecast&)>;
  // Where the results of a component's call are.
  using AccountOf = std::function<const MemoryAccount&(const std::string& component)>;
  // From now on calls compute nothing: their results are zeros, charged to the account of
  // `results`, and `told` receives what each would take.
  void only_forecast(OnForecast told, AccountOf results) {
    forecast_ = std::move(told);
    results_ = std::move(results);
  }
  // Releases what earlier runs left in memory of components that the plan has leave it.
  void make_room();
  // A component was used for the last time: what streams hold of it goes.
  void release(const std::string& name);
  // Whether the plan has a component leave memory after its last use.
  bool leaves_memory(const std::string& name) const;
  // Whether there is a plan for its components' memory.
  bool plans_memory() const;
  // Waits for every device that the components run on.
  void synchronize() const;

  // The most runs whose rows a call was computed with since this was last asked; 1: alone.
  size_t runs_together() { return std::exchange(runs_together_, 1); }

  // A loop has ended: reports what the networks kept between its steps, and drops it.
  void end_loop(RunReport& report);

  // backend_timeline, fallbacks, device_placement, as they are now.
  void describe(RunReport& report) const;

 private:
  ComponentRun::Relief relief_of(const LoadedComponent& component);
  void release_all(const Backend& on);
  Values computed(const std::string& name, ComponentRun& run, const ComponentCall& call,
                  const Values& inputs, const CancelToken* cancel);
  Values in_turn(ComponentRun& run, const ComponentCall& call, const Values& inputs,
                 const CancelToken* cancel);

  const LoadedPipeline& pipeline_;
  FallbackCounter* total_;
  std::function<SharedTurn*()> shared_turn_;
  size_t runs_together_ = 1;
  bool remembers_;
  uint64_t remembered_ = 0;
  OnForecast forecast_;
  AccountOf results_;  // of calls that are not made
  FallbackCounter counter_;
  std::map<std::string, ComponentRun> runs_;
};

}  // namespace omnirt
