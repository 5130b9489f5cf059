#include "pipeline/settled.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/path_text.hpp"

namespace omnirt {

void Settled::error(Finding finding) {
  bool known = std::ranges::any_of(errors, [&](const Finding& other) {
    return other.field == finding.field && other.value == finding.value &&
           other.message == finding.message;
  });
  if (!known) errors.push_back(std::move(finding));
}

void Settled::take(const InvalidRequest& thrown) {
  for (const Finding& finding : thrown.findings()) error(finding);
}

void Settled::unused(const KeyInfo& key, const std::string& why, const std::string& way_out) {
  const std::string field = fmt::format("config.{}", key.name);
  const bool known = !unused_keys.insert(key.name).second;
  const ConfigValue* given = config.find(key.name);
  if (!given || given->value.is_null() || given->origin != Origin::user) return;
  // Of several reasons the first is reported.
  if (known && std::ranges::find(warnings, field, &Finding::field) != warnings.end()) return;
  warn({field, shown(given->value), why, way_out});
}

void Settled::refuse_component(const std::string& name) const {
  auto refused = refused_components.find(name);
  if (refused != refused_components.end()) throw InvalidRequest(refused->second);
  const ComponentFolder* component = folder.find(name);
  if (!component) {
    throw InvalidRequest({"model." + name, path_text(folder.path),
                          "the model's folder has no such component, and this task needs it",
                          fmt::format("give components.{} a folder", name)});
  }
  throw Unsupported({"components." + name, component->class_name,
                     "a component of this class cannot be used here",
                     "use one of the class that the model was made with"});
}

}  // namespace omnirt
