#pragma once
#include <functional>
#include <map>
#include <string>

#include "runtime/context.hpp"

namespace omnirt {

using NamedTensors = std::map<std::string, Tensor>;

// One call of a component. `body` is the component's own code over inputs that lie on the device;
// it may be run more than once (a level that fails, a warm-up before a capture) and must do the
// same each time: what it draws or counts comes in as an input.
struct ComponentCall {
  NamedTensors inputs;  // on the CPU
  // What the body does beside its inputs ("clip_skip=1"): calls of one variant and of equal shapes
  // do the same work.
  std::string variant;
  std::function<Tensor(Context& cx, const NamedTensors& inputs)> body;
};

// The way into a component at a level that does more than run the body op by op: captures calls
// and plays them back. Kept with the component, shared by threads.
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  // The result on the device. Throws LevelFailed (or anything else) where the level cannot do it.
  virtual Tensor run(Context& cx, const ComponentCall& call, const NamedTensors& inputs) = 0;
  // The most bytes of tensors that a call takes, by its dry forward; 0 where none was made.
  // `constants_kept`: an earlier call of the run has made what is made once a run.
  virtual size_t planned_peak(const ComponentCall&, bool /*constants_kept*/) { return 0; }
  // The component's weights are given back: drops what holds on to them.
  virtual void forget() {}
};

}  // namespace omnirt
