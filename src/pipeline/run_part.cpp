#include "pipeline/run_part.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/nearest.hpp"
#include "pipeline/loop.hpp"

namespace omnirt {
namespace {

using Kind = PortInfo::Kind;

// What a block reads by the names that its conditions use for it.
std::vector<std::string> read_names(const Block& block, const PortInfo& port,
                                    const std::vector<Condition>& conditions) {
  std::vector<std::string> names{port.name};
  if (!reads_per_condition(block, port.name)) return names;
  for (const Condition& condition : conditions) {
    auto renamed = condition.renames.find(port.name);
    if (renamed != condition.renames.end()) names.push_back(renamed->second);
  }
  return names;
}

}  // namespace

bool has_loop(const Plan& plan, const RunPart& part) {
  for (size_t i = part.first; i < part.end; ++i) {
    if (as_loop(*plan.blocks[i])) return true;
  }
  return false;
}

bool takes_part(const Plan& plan, const RunPart& part, size_t index) {
  if (index >= part.end) return false;
  return index >= part.first || (as_step(*plan.blocks[index]) && has_loop(plan, part));
}

std::string workflow_of(const Plan& plan, const RunPart& part) {
  std::string text;
  for (size_t i = part.first; i < part.end; ++i)
    text += (text.empty() ? "" : " > ") + plan.blocks[i]->name();
  return text;
}

size_t cut_after(const Plan& plan, const std::string& name) {
  std::vector<std::string> known;
  size_t found = 0;
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    known.push_back(plan.blocks[i]->name());
    if (plan.blocks[i]->name() == name) found = i + 1;
  }
  for (size_t i = 0; i < plan.blocks.size(); ++i) {
    std::string stage = to_string(plan.blocks[i]->stage());
    if (std::ranges::find(known, stage) == known.end()) known.push_back(stage);
  }
  for (size_t i = 0; found == 0 && i < plan.blocks.size(); ++i) {
    bool last =
        i + 1 == plan.blocks.size() || plan.blocks[i + 1]->stage() != plan.blocks[i]->stage();
    if (last && to_string(plan.blocks[i]->stage()) == name) found = i + 1;
  }
  if (found == 0) {
    throw InvalidRequest({"config.stop_after", name, "no block or stage of this run has this name",
                          suggest(name, known)});
  }
  if (found == plan.blocks.size()) {
    throw InvalidRequest({"config.stop_after", name,
                          "it is the last: nothing is left to do after it",
                          "omit stop_after and state"});
  }
  return found;
}

std::map<std::string, const PortInfo*> values_across(const Plan& plan, size_t cut,
                                                     const std::vector<Condition>& conditions) {
  std::map<std::string, const PortInfo*> needed;
  std::set<std::string> made;
  auto read_ports = [&](const Block& block) {
    for (const PortInfo& port : block.ports()) {
      if (!port.reads()) continue;
      for (const std::string& name : read_names(block, port, conditions)) {
        if (!made.contains(name)) needed.emplace(name, &port);
      }
    }
  };
  // A step block takes part in a loop with what it read and with what it made itself.
  for (size_t i = 0; i < cut && has_loop(plan, {cut, plan.blocks.size()}); ++i) {
    if (!as_step(*plan.blocks[i])) continue;
    read_ports(*plan.blocks[i]);
    for (const PortInfo& port : plan.blocks[i]->ports()) {
      if (port.kind == Kind::output) needed.emplace(port.name, &port);
    }
  }
  for (size_t i = cut; i < plan.blocks.size(); ++i) {
    read_ports(*plan.blocks[i]);
    for (const PortInfo& port : plan.blocks[i]->ports()) {
      if (port.kind == Kind::output || port.kind == Kind::inout) made.insert(port.name);
    }
  }
  std::erase_if(needed, [&](const auto& each) {
    return each.second->type == typeid(std::vector<std::string>) &&
           !maker_of(plan, cut, each.first);
  });
  return needed;
}

const PortInfo* maker_of(const Plan& plan, size_t cut, const std::string& name) {
  for (size_t i = 0; i < cut; ++i) {
    for (const PortInfo& port : plan.blocks[i]->ports()) {
      if (port.kind == Kind::output && port.name == name) return &port;
    }
  }
  return nullptr;
}

void keep_components_of(Plan& plan, const RunPart& part, const std::vector<Condition>& conditions) {
  std::set<std::string> kept;
  for (size_t i = 0; i < part.end; ++i) {
    if (!takes_part(plan, part, i)) continue;
    for (const PortInfo& port : plan.blocks[i]->ports()) {
      if (port.kind == Kind::component) kept.insert(port.name);
    }
  }
  // A loop asks the networks that conditions name, too.
  for (const Condition& condition : conditions) {
    if (!condition.network.empty() && has_loop(plan, part)) kept.insert(condition.network);
  }
  std::erase_if(plan.components, [&](const std::string& name) { return !kept.contains(name); });
  std::erase_if(plan.last_use, [&](const auto& use) { return !kept.contains(use.first); });
  for (auto& [name, last] : plan.last_use) last = std::min(last, part.end - 1);
}

}  // namespace omnirt
