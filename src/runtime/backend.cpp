#include "runtime/backend.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace omnirt {

std::shared_ptr<WrappedComponent> Backend::wrap_module(const std::string& component,
                                                       const std::string& tag, PlanFacts facts) {
  return std::make_shared<WrappedComponent>(*this, component, tag, facts);
}

void Backend::register_override(std::string name, std::function<void(ops::OpTable&)> add) {
  std::scoped_lock lock(mutex_);
  auto it = std::ranges::find(overrides_, name, &Override::name);
  if (it == overrides_.end())
    overrides_.push_back({std::move(name), std::move(add)});
  else
    it->add = std::move(add);
}

std::vector<std::string> Backend::overrides() const {
  std::scoped_lock lock(mutex_);
  std::vector<std::string> names;
  for (const Override& override : overrides_) names.push_back(override.name);
  return names;
}

LevelPlan Backend::plan(Level level, const std::string& component, const std::string& tag,
                        const PlanFacts& facts) {
  LevelPlan plan;
  switch (level) {
    case Level::compile:
      plan = compile(component, tag, facts);
      if (plan.note.empty()) plan.note = "compiled";
      break;
    case Level::kernel_override:
      plan = overridden(facts);
      break;
    case Level::eager:
      plan.form = compute_form(level, facts);
      plan.note = "the references";
  }
  if (!plan.ops) plan.ops = std::make_shared<const ops::OpTable>();
  return plan;
}

LevelPlan Backend::overridden(const PlanFacts& facts) {
  std::scoped_lock lock(mutex_);
  if (overrides_.empty()) throw Unsupported({name(), "", "no kernel overrides are registered", ""});
  auto table = std::make_shared<ops::OpTable>();
  std::string names;
  for (const Override& override : overrides_) {
    override.add(*table);
    names += (names.empty() ? "" : ", ") + override.name;
  }
  return {table, compute_form(Level::kernel_override, facts), nullptr, "kernels: " + names};
}

}  // namespace omnirt
