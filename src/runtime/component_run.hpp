#pragma once
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "runtime/component_call.hpp"
#include "runtime/dry_forward.hpp"
#include "runtime/fallbacks.hpp"
#include "runtime/param_uses.hpp"
#include "runtime/weight_stream.hpp"
#include "runtime/wrapped_component.hpp"

namespace omnirt {

// One component's way through one run: the level it is at, what was tried, and what it keeps
// between its calls. Every call of a component goes through here, so that every call can fall back.
// Belongs to one run and one thread.
class ComponentRun {
 public:
  // `own`: for this run alone, whose weights then come and go.
  using Lease = std::function<std::shared_ptr<const Binding>(const ComputeForm& form, bool own)>;
  // Of a backend whose device memory is planned: what a call that found none there is made again
  // with. Empty elsewhere: the call ends with OutOfMemory.
  struct Relief {
    // Releases all weights that the run's components hold on the device.
    std::function<void()> release{};
    std::function<std::vector<ParamUse>(const DryForward& call, const ComputeForm& form)> uses{};
  };
  struct Options {
    std::string component;  // its name in the pipeline
    LevelPolicy policy;
    FallbackCounter* counter = nullptr;
    bool trace = false;     // keep what each op took
    Residency residency{};  // with groups: these come and go while the component computes
    Relief relief{};
  };
  // Chooses the fastest level that works among those allowed.
  ComponentRun(std::shared_ptr<WrappedComponent> wrapped, Lease lease, Options options);

  // Throws RunFailed with the reasons where no level that is allowed works.
  void check() const;
  // The call's results, on the device; inputs may be on the host or there. Made again at the next
  // level when one fails it; what the run kept for this component is dropped then, so that nothing
  // half-made is used. Throws RunFailed where no lower level is allowed; Cancelled and
  // InvalidRequest pass through, and so does exhausted memory, once nothing is left to release
  // (Relief).
  Values call(const ComponentCall& call, const Values& inputs, const CancelToken* cancel = nullptr);

  // What calls of two runs must have in common to be computed as one batch, in which each row has
  // the bits that it has alone; null where this run's calls are its own: weights that come and go,
  // a device whose memory is planned, a profile, or a level whose kernels look at the whole batch.
  struct Together {
    const LevelPlan* plan = nullptr;
    std::shared_ptr<const Binding> weights{};
    bool require_kernels = false;
    explicit operator bool() const { return plan != nullptr; }
    bool operator==(const Together&) const = default;
  };
  Together together();
  // A call for several runs: nothing is kept, and nothing is made again where it fails.
  Values call_for_several(const ComponentCall& call, const Values& inputs);
  // Such a call failed; each of the `runs` makes its own. Never throws.
  void came_apart(const std::exception_ptr& error, size_t runs, double ms) noexcept;

  TimelineEntry timeline() const { return {options_.component, attempts_}; }
  // Null where no level works.
  const LevelPlan* plan() const { return plan_; }
  Level level() const { return level_; }
  // What the call would take and return, with nothing computed; found once per variant and shapes.
  const DryForward& forecast(const ComponentCall& call, const Values& inputs);
  // Whether its weights come and go while it computes.
  bool streams() const { return !options_.residency.groups.empty(); }
  const Residency& residency() const { return options_.residency; }
  // Releases what a stream of weights holds; the next call begins another.
  void release();
  // What streams of weights did; nothing was streamed where all is zero.
  const StreamFigures& streamed() const { return streamed_; }
  // The most tensor bytes that the calls so far were planned to take together with what was in
  // memory before them; 0 where no level plans.
  size_t predicted_peak_bytes() const { return predicted_peak_; }
  // The ops of all calls so far, where Options::trace asks for them.
  const std::vector<OpRecord>& trace() const { return trace_; }
  // And its blocks.
  const std::vector<BlockTime>& block_times() const { return blocks_.all(); }
  // What is kept between the calls.
  RunState& state() { return state_; }

 private:
  void choose(int from);
  Values at_level(const ComponentCall& call, const Values& inputs, Context& cx);
  Values on_device(const Values& inputs);
  Tensor on_device(const Value& value);
  Context context(const CancelToken* cancel, std::vector<KernelFailure>& failures, bool keeps);
  bool requires_kernels() const;
  WeightStream* stream();
  void note(const std::vector<KernelFailure>& failures);
  void fall(const std::string& reason, double ms);
  bool relieve(const ComponentCall& call, const Values& inputs, const std::string& reason,
               double ms);
  std::string hold_less(const ComponentCall& call, const Values& inputs);
  void count(FallbackKind kind, uint64_t count = 1);
  std::string refusal() const;

  std::shared_ptr<WrappedComponent> wrapped_;
  Lease lease_;
  Options options_;
  const LevelPlan* plan_ = nullptr;
  Level level_ = Level::eager;
  std::vector<Attempt> attempts_;
  RunState state_;
  // Where values that live as long as the run are on the device; empty where that is the host.
  std::map<uint64_t, std::pair<std::weak_ptr<const void>, Tensor>> moved_;
  uint64_t calls_ = 0;
  int relieved_ = 0;  // how far it went
  size_t predicted_peak_ = 0;
  std::vector<OpRecord> trace_;
  BlockTimes blocks_;
  std::unique_ptr<WeightStream> stream_;
  StreamFigures streamed_;
  std::deque<std::pair<CallKey, DryForward>> forecasts_;
};

}  // namespace omnirt
