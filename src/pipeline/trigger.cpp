#include "pipeline/trigger.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace omnirt {
namespace {

using PartKind = TriggerPart::Kind;

std::vector<TriggerPart> both(const Trigger& a, const Trigger& b) {
  std::vector<TriggerPart> parts = a.parts();
  for (const TriggerPart& part : b.parts()) {
    if (std::ranges::find(parts, part) == parts.end()) parts.push_back(part);
  }
  return parts;
}

// "or" brings its brackets along; an "and" outside them gets its own where "not" is meant of
// all.
std::string bracketed(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && text.compare(i, 5, " and ") == 0) return fmt::format("({})", text);
  }
  return text;
}

// "(a or b)" without its brackets, for a longer "or"; any other text as it is.
std::string alternatives(const std::string& text) {
  int depth = 0;
  bool any = false;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (depth == 0 && i + 1 < text.size()) return text;
    any = any || (depth == 1 && text.compare(i, 4, " or ") == 0);
  }
  return any && text.front() == '(' ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

std::string TriggerPart::field() const {
  if (kind == PartKind::input) return "inputs." + name;
  return (kind == PartKind::component ? "components." : "config.") + name;
}

void TriggerPart::add_to(Facts& facts) const {
  if (kind == PartKind::input)
    facts.inputs.insert(name);
  else if (kind == PartKind::component)
    facts.components.emplace(name, nullptr);
  else
    facts.config[name] = value;
}

std::vector<TriggerPart> Trigger::missing(const Facts& facts) const {
  std::vector<TriggerPart> missing;
  if ((*this)(facts)) return missing;
  for (const TriggerPart& part : parts_) {
    Facts with = facts;
    part.add_to(with);
    if ((*this)(with)) missing.push_back(part);
  }
  return missing;
}

Trigger operator&&(const Trigger& a, const Trigger& b) {
  return {[a, b](const Facts& facts) { return a(facts) && b(facts); },
          fmt::format("{} and {}", a.text(), b.text()), both(a, b)};
}

Trigger operator||(const Trigger& a, const Trigger& b) {
  return {[a, b](const Facts& facts) { return a(facts) || b(facts); },
          fmt::format("({} or {})", alternatives(a.text()), alternatives(b.text())), both(a, b)};
}

Trigger operator!(const Trigger& a) {
  return {[a](const Facts& facts) { return !a(facts); }, "not " + bracketed(a.text()), a.parts()};
}

Trigger has(const std::string& input) {
  return {[input](const Facts& facts) { return facts.inputs.contains(input); },
          fmt::format("has({})", input),
          {{PartKind::input, input}}};
}

Trigger has_config(const std::string& key) {
  return {[key](const Facts& facts) {
            auto value = facts.config.find(key);
            return value != facts.config.end() && !value->is_null() && *value != false;
          },
          fmt::format("has_config({})", key),
          {{PartKind::config, key}}};
}

Trigger is_task(const std::string& task) {
  return {[task](const Facts& facts) { return facts.task == task; },
          fmt::format("task is {}", task),
          {}};
}

Trigger has_component(const std::string& component) {
  return {[component](const Facts& facts) { return facts.components.contains(component); },
          fmt::format("has_component({})", component),
          {{PartKind::component, component}}};
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
          {{PartKind::choice, key, value}}};
}

}  // namespace omnirt
