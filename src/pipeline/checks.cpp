#include "pipeline/checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "pipeline/loop.hpp"
#include "pipeline/numbered.hpp"
#include "pipeline/run_keys.hpp"

namespace omnirt {
namespace {

// "controlnet" of "controlnet_1".
std::string kind_of(const std::string& component) {
  size_t name = component.find_last_not_of("0123456789");
  bool counted = name != component.npos && name + 1 < component.size() && component[name] == '_';
  return counted ? component.substr(0, name) : component;
}

}  // namespace

void Checks::check(const Port& port) const {
  ensure(port.block() == &block_, "block '{}' is asked in a check for port '{}', not its own",
         block_.name(), port.name());
}

size_t Checks::count_alike(const Port& component) const {
  std::string kind = kind_of(own(component).name());
  size_t count = 0;
  while (settled_.folder.find(numbered(kind, count))) ++count;
  return count;
}

const std::vector<std::string>& Checks::texts_of(const std::string& input) const {
  static const std::vector<std::string> none;
  const auto* given = find(settled_.texts, input);
  return given ? *given : none;
}

const std::vector<ImageInput>& Checks::images_of(const std::string& input) const {
  static const std::vector<ImageInput> none;
  const auto* given = find(settled_.image_lists, input);
  return given ? *given : none;
}

Checks::NamedTexts Checks::texts_under(const std::string& port, const Condition& condition) const {
  auto renamed = condition.renames.find(port);
  const std::string& input = renamed == condition.renames.end() ? port : renamed->second;
  return {input, texts_of(input)};
}

std::vector<Checks::NamedTexts> Checks::texts_under_all(const std::string& port) const {
  std::vector<Condition> all = conditions();
  all.insert(all.begin(), Condition{});
  std::vector<NamedTexts> made;
  for (const Condition& condition : all) {
    NamedTexts texts = texts_under(port, condition);
    bool told = std::ranges::find(made, texts.input, &NamedTexts::input) != made.end();
    if (!told && settled_.texts.contains(texts.input)) made.push_back(texts);
  }
  return made;
}

std::vector<const std::any*> Checks::restored_values(const std::string& port) const {
  std::vector<const std::any*> all;
  for (const auto& [condition, values] : settled_.restored) {
    if (const std::any* value = find(values, port)) all.push_back(value);
  }
  return all;
}

void Checks::refuse_restored(const Port& port, const std::string& why) {
  error({"config.resume", settled_.config.maybe(keys::resume).value_or(""),
         fmt::format("its value '{}' {}", own(port).name(), why),
         "make the state again with this model"});
}

std::vector<Condition> Checks::conditions() const {
  return settled_.guider ? settled_.guider->conditions() : std::vector<Condition>{};
}

void Checks::add_condition(Condition condition,
                           std::map<std::string, std::vector<std::string>> texts) {
  settled_.extra_conditions.push_back({std::move(condition), std::move(texts), block_.name()});
}

std::vector<const StepBlock*> Checks::step_blocks() const {
  std::vector<const StepBlock*> all;
  auto add = [&](auto&& self, const BlockList& blocks) -> void {
    for (const auto& block : blocks) {
      if (const StepBlock* step = as_step(*block)) all.push_back(step);
      self(self, block->inner());
    }
  };
  add(add, settled_.plan.blocks);
  return all;
}

Json Checks::record() const {
  bool none = settled_.config.maybe(keys::metadata) == CarriedRequest::none;
  return none || !record_ ? Json() : record_();
}

}  // namespace omnirt
