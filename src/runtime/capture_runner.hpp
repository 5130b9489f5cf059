#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/component_call.hpp"

namespace omnirt {

// A device's record of work: what was launched while it was captured is launched again by replay,
// on the memory that it had then.
class Graph {
 public:
  virtual ~Graph() = default;
  // Runs `work` under capture. What it throws passes through, with the device fit for use again.
  virtual void capture(const std::function<void()>& work) = 0;
  virtual void replay() = 0;
};

// A component's calls as graphs, one per variant and shapes of inputs: the first call runs op by op
// (it makes the weights' forms, the libraries' workspaces and what is made once per run, which a
// capture may not), the second captures, later ones are played back. So what is called once never
// pays for a capture. What was made once per run is read from the graph's own copies, which take
// another run's values before it is played back for that. Calls whose steps share features are
// never captured, and none where the run's memory is planned (Context::may_capture): weights then
// have no place of their own, and what a graph holds of the device is in no plan.
class CaptureRunner final : public CallRunner {
 public:
  using MakeGraph = std::function<std::unique_ptr<Graph>()>;
  // `most`: captures kept at a time, each with its activations' memory; the one that was not used
  // for the longest time goes first.
  explicit CaptureRunner(MakeGraph make, size_t most = 8);
  ~CaptureRunner() override;
  Values run(Context& cx, const ComponentCall& call, const Values& inputs) override;
  void forget() override;
  size_t captures() const;

 private:
  struct Capture;
  Capture& entry(CallKey key, const std::shared_ptr<const Binding>& binding);
  void capture(Capture& known, Context& cx, const ComponentCall& call, const Values& inputs);

  MakeGraph make_;
  size_t most_;
  mutable std::mutex mutex_;
  std::deque<std::unique_ptr<Capture>> captures_;  // the one that was used last in front
};

}  // namespace omnirt
