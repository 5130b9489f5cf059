#pragma once
#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/component_call.hpp"
#include "runtime/level.hpp"
#include "runtime/run_facts.hpp"

namespace omnirt {

class Backend;

// A component at one level: the ops that its contexts use, and the form in which they want the
// weights.
struct LevelPlan {
  std::shared_ptr<const ops::OpTable> ops{};
  ComputeForm form{};
  std::shared_ptr<CallRunner> runner{};  // null: the body, op by op
  std::string note{};                    // what was chosen, for the timeline
};

// A component as a backend runs it. Each level is tried when it is first asked for, once; the
// outcome is kept and reported to every run. Shared by threads.
class WrappedComponent {
 public:
  WrappedComponent(Backend& backend, std::string component, std::string tag, PlanFacts facts);

  struct Outcome {
    bool ok = false;
    std::string reason;
    double ms = 0;
    LevelPlan plan;  // where ok
  };
  const Outcome& at(Level level);
  // Notifies the levels that the component's weights are released.
  void forget();
  const std::string& component() const { return component_; }
  Backend& backend() { return backend_; }

 private:
  Outcome attempt(Level level);

  Backend& backend_;
  std::string component_;
  std::string tag_;
  PlanFacts facts_;
  std::mutex mutex_;
  std::array<std::unique_ptr<const Outcome>, 3> outcomes_;
};

}  // namespace omnirt
