#include "pipeline/trigger.hpp"

#include <fmt/format.h>

namespace omnirt {
namespace {

std::set<std::string> both(const Trigger& a, const Trigger& b) {
  std::set<std::string> inputs = a.inputs();
  inputs.insert(b.inputs().begin(), b.inputs().end());
  return inputs;
}

}  // namespace

Trigger operator&&(const Trigger& a, const Trigger& b) {
  return {[a, b](const Facts& facts) { return a(facts) && b(facts); },
          fmt::format("{} and {}", a.text(), b.text()), both(a, b)};
}

Trigger operator||(const Trigger& a, const Trigger& b) {
  return {[a, b](const Facts& facts) { return a(facts) || b(facts); },
          fmt::format("({} or {})", a.text(), b.text()), both(a, b)};
}

Trigger operator!(const Trigger& a) {
  return {[a](const Facts& facts) { return !a(facts); }, fmt::format("not {}", a.text()),
          a.inputs()};
}

Trigger has(const std::string& input) {
  return {[input](const Facts& facts) { return facts.inputs.contains(input); },
          fmt::format("has({})", input),
          {input}};
}

Trigger config_is(const std::string& component, const std::string& key, Json value) {
  std::string text = fmt::format("{}.{} == {}", component, key, value.dump());
  return {[=](const Facts& facts) {
            auto it = facts.components.find(component);
            return it != facts.components.end() && it->second.is_object() &&
                   it->second.contains(key) && it->second.at(key) == value;
          },
          text,
          {}};
}

}  // namespace omnirt
