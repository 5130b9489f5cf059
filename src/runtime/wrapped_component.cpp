#include "runtime/wrapped_component.hpp"

#include "base/clock.hpp"
#include "runtime/backend.hpp"

namespace omnirt {

WrappedComponent::WrappedComponent(Backend& backend, std::string component, std::string tag,
                                   PlanFacts facts)
    : backend_(backend), component_(std::move(component)), tag_(std::move(tag)), facts_(facts) {}

const WrappedComponent::Outcome& WrappedComponent::at(Level level) {
  std::scoped_lock lock(mutex_);
  auto& outcome = outcomes_[static_cast<size_t>(level)];
  if (!outcome) outcome = std::make_unique<const Outcome>(attempt(level));
  return *outcome;
}

WrappedComponent::Outcome WrappedComponent::attempt(Level level) {
  Outcome outcome;
  double start = now_ms();
  try {
    outcome.plan = backend_.plan(level, component_, tag_, facts_);
    outcome.reason = outcome.plan.note;
    outcome.ok = true;
  } catch (const Cancelled&) {
    // Says nothing of the level, which later runs may take.
    throw;
  } catch (const std::exception& error) {
    outcome.reason = reason_of(error);
  }
  outcome.ms = now_ms() - start;
  return outcome;
}

void WrappedComponent::forget() {
  std::scoped_lock lock(mutex_);
  for (const auto& outcome : outcomes_) {
    if (outcome && outcome->plan.runner) outcome->plan.runner->forget();
  }
}

}  // namespace omnirt
