#pragma once
#include <functional>
#include <string>

#include <vector>
#include "runtime/context.hpp"
#include "runtime/value.hpp"

namespace omnirt {

// One call of a component. `body` is the component's own code over values that are on the device;
// it may be run more than once (a level that fails, a warm-up before a capture) and must do the
// same each time: what it draws or counts comes in as an input.
struct ComponentCall {
  using Body = std::function<Values(Context& cx, const Values& inputs)>;
  // What the body depends on in addition to its inputs ("clip_skip=1"): calls of one variant and of
  // equal shapes do the same work.
  std::string variant;
  Body body;
  // Of a loop's batch: its rows, its step, and what layers do differently for all of them; may be
  // left out elsewhere.
  RowIds rows{};
  SharedStep step{};
  const SitePlan* sites = nullptr;
  // Of how many rows a batch may be that this call's rows are computed in together with those of
  // other runs (JoinedCall); 0: the body is for this run's rows alone.
  size_t joins_up_to = 0;

  // The body under a context that knows the batch and which inputs live as long as the run.
  Values run(Context& cx, const Values& inputs) const;
};

// The way into a component at a level that does more than run the body op by op: captures calls
// and plays them back. Kept with the component, shared by threads.
class CallRunner {
 public:
  virtual ~CallRunner() = default;
  // The results on the device. Throws LevelFailed (or anything else) where the level cannot do it.
  virtual Values run(Context& cx, const ComponentCall& call, const Values& inputs) = 0;
  // The most bytes of tensors that a call takes, by its dry forward; 0 where none was made.
  // `kept_before`: an earlier call of the run has made what is made once per run, and kept features
  // that steps share.
  virtual size_t planned_peak(const ComponentCall&, const Values& /*inputs*/,
                              bool /*kept_before*/) {
    return 0;
  }
  // The component's weights are released: drops what holds on to them.
  virtual void forget() {}
};

// What distinguishes calls of different work: the variant, and of each input the name, shape, type
// and which of its rows the batch takes.
struct CallKey {
  struct Input {
    std::string name;
    std::vector<int64_t> shape;
    at::ScalarType type;
    std::vector<int64_t> rows;
    bool operator==(const Input&) const = default;
  };
  std::string variant;
  std::vector<Input> inputs;
  bool operator==(const CallKey&) const = default;
};
CallKey call_key(const std::string& variant, const Values& inputs);

}  // namespace omnirt
