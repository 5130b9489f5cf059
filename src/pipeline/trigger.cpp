#include "pipeline/trigger.hpp"

#include <fmt/format.h>

namespace omnirt {
namespace {

std::set<std::string> both(const Trigger& a, const Trigger& b) {
  std::set<std::string> inputs = a.inputs();
  inputs.insert(b.inputs().begin(), b.inputs().end());
  return inputs;
}

// "or" brings its brackets along; an "and" outside of them gets its own where "not" is meant of
// all.
std::string bracketed(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && text.compare(i, 5, " and ") == 0) return fmt::format("({})", text);
  }
  return text;
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
  return {[a](const Facts& facts) { return !a(facts); }, "not " + bracketed(a.text()), a.inputs()};
}

Trigger has(const std::string& input) {
  return {[input](const Facts& facts) { return facts.inputs.contains(input); },
          fmt::format("has({})", input),
          {input}};
}

Trigger has_config(const std::string& key) {
  return {[key](const Facts& facts) {
            auto value = facts.config.find(key);
            return value != facts.config.end() && !value->is_null() && *value != false;
          },
          fmt::format("has_config({})", key),
          {}};
}

Trigger has_component(const std::string& component) {
  return {[component](const Facts& facts) { return facts.components.contains(component); },
          fmt::format("has_component({})", component),
          {}};
}

Trigger index_is(const std::string& key, Json value) {
  return {
      [=](const Facts& facts) { return facts.index.contains(key) && facts.index.at(key) == value; },
      fmt::format("model_index.{} == {}", key, value.dump()),
      {}};
}

Trigger chosen(const std::string& key, Json value) {
  return {[=](const Facts& facts) {
            return facts.config.contains(key) && facts.config.at(key) == value;
          },
          fmt::format("config.{} == {}", key, value.dump()),
          {}};
}

}  // namespace omnirt
