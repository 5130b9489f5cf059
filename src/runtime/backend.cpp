#include "runtime/backend.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"

namespace omnirt {

std::shared_ptr<WrappedComponent> Backend::wrap_module(const std::string& component,
                                                       const std::string& tag, PlanFacts facts) {
  return std::make_shared<WrappedComponent>(*this, component, tag, facts);
}

void Backend::register_override(const std::string& tag, KernelOverride override) {
  std::scoped_lock lock(mutex_);
  std::vector<KernelOverride>& of_tag = overrides_[tag];
  auto it = std::ranges::find(of_tag, override.name, &KernelOverride::name);
  if (it == of_tag.end())
    of_tag.push_back(std::move(override));
  else
    *it = std::move(override);
}

std::vector<KernelOverride> Backend::overrides_of(const std::string& tag) const {
  std::scoped_lock lock(mutex_);
  std::vector<KernelOverride> found;
  for (const std::string& each : std::set<std::string>{tag, every_tag}) {
    auto of_tag = overrides_.find(each);
    if (of_tag == overrides_.end()) continue;
    // The tag's own first: kernels are tried in the order in which they were added.
    found.insert(each == every_tag ? found.end() : found.begin(), of_tag->second.begin(),
                 of_tag->second.end());
  }
  return found;
}

std::vector<std::string> Backend::overrides(const std::string& tag) const {
  std::vector<std::string> names;
  for (const KernelOverride& each : overrides_of(tag)) names.push_back(each.name);
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
      plan = overridden(tag, facts);
      break;
    case Level::eager:
      plan.form = compute_form(level, facts);
      plan.note = "the references";
  }
  if (!plan.ops) plan.ops = std::make_shared<const ops::OpTable>();
  return plan;
}

LevelPlan Backend::overridden(const std::string& tag, const PlanFacts& facts) {
  const std::vector<KernelOverride> overrides = overrides_of(tag);
  if (overrides.empty()) throw Unsupported({name(), "", "no kernel overrides are registered", ""});
  auto table = std::make_shared<ops::OpTable>();
  std::string names;
  for (const KernelOverride& override : overrides) {
    override.add(*table);
    names += (names.empty() ? "" : ", ") + override.name;
  }
  return {table, compute_form(Level::kernel_override, facts), nullptr, "kernels: " + names};
}

}  // namespace omnirt
