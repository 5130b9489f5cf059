#pragma once
#include <deque>
#include <mutex>
#include <utility>

#include "runtime/component_call.hpp"

namespace omnirt::cpu {

// Runs a component's calls after a dry forward of each new shape has found what they take, so that
// a call which the machine has no memory for is refused before it begins.
class PlannedCalls final : public CallRunner {
 public:
  // `ops`: the table that the component's contexts use.
  explicit PlannedCalls(std::shared_ptr<const ops::OpTable> ops, ComputeForm form)
      : ops_(std::move(ops)), form_(form) {}

  Values run(Context& cx, const ComponentCall& call, const Values& inputs) override;
  // Throws OutOfMemory where calls of a new shape need more than is available.
  size_t planned_peak(const ComponentCall& call, const Values& inputs, bool kept_before) override;

 private:
  // Peaks kept at a time; the one that was not used for the longest time goes first.
  static constexpr size_t most_peaks = 256;

  std::shared_ptr<const ops::OpTable> ops_;
  ComputeForm form_;
  std::mutex mutex_;
  std::deque<std::pair<CallKey, size_t>> peaks_;  // the one that was used last in front
};

}  // namespace omnirt::cpu
