#include "pipeline/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/image.hpp"

namespace omnirt {
namespace {

using Kind = PortInfo::Kind;

// What a request can bring; everything else only blocks make.
bool is_request_type(std::type_index type) {
  return type == typeid(std::vector<std::string>) || type == typeid(io::Image);
}

class PlanMaker {
 public:
  PlanMaker(Plan& plan, const std::vector<Condition>& conditions)
      : plan_(plan), conditions_(conditions) {}

  void add(const std::shared_ptr<const Block>& block) {
    size_t index = plan_.blocks.size();
    if (index > 0 && block->stage() < plan_.blocks.back()->stage()) {
      problem(*block, fmt::format("stage {} comes after {}", to_string(block->stage()),
                                  to_string(plan_.blocks.back()->stage())));
    }
    plan_.blocks.push_back(block);
    for (const PortInfo& port : block->ports()) read(*block, port, index);
    for (const PortInfo& port : block->ports()) {
      if (port.kind == Kind::output || port.kind == Kind::inout)
        made_.insert_or_assign(port.name, port.type);
    }
  }

 private:
  void problem(const Block& block, std::string message) {
    plan_.problems.push_back({"block " + block.name(), "", std::move(message), ""});
  }

  void read(const Block& block, const PortInfo& port, size_t index) {
    if (port.kind == Kind::component) {
      if (!plan_.last_use.contains(port.name)) plan_.components.push_back(port.name);
      plan_.last_use[port.name] = index;
    } else if (port.kind == Kind::config) {
      if (std::ranges::find(plan_.keys, port.key) == plan_.keys.end())
        plan_.keys.push_back(port.key);
    } else if (port.kind != Kind::output) {
      read_value(block, port);
    }
  }

  void read_value(const Block& block, const PortInfo& port) {
    auto made = made_.find(port.name);
    if (made != made_.end()) {
      if (made->second != port.type)
        problem(block, fmt::format("'{}' was made with another type", port.name));
      return;
    }
    if (port.kind == Kind::inout) {
      problem(block, fmt::format("nobody before it makes '{}'", port.name));
      return;
    }
    want(block, port, port.name, port.kind == Kind::input);
    if (block.guidance() != Guidance::per_condition) return;
    for (const Condition& condition : conditions_) {
      auto renamed = condition.renames.find(port.name);
      if (renamed != condition.renames.end()) want(block, port, renamed->second, false);
    }
  }

  void want(const Block& block, const PortInfo& port, const std::string& name, bool required) {
    if (!is_request_type(port.type)) {
      if (required) problem(block, fmt::format("nobody before it makes '{}'", name));
      return;
    }
    for (RequestInput& input : plan_.inputs) {
      if (input.name != name) continue;
      input.required = input.required || required;
      if (input.type != port.type)
        problem(block, fmt::format("'{}' is wanted with two types", name));
      return;
    }
    plan_.inputs.push_back({name, port.type, required, port.help, block.name()});
  }

  Plan& plan_;
  const std::vector<Condition>& conditions_;
  std::map<std::string, std::type_index> made_;
};

}  // namespace

const RequestInput* Plan::find_input(const std::string& name) const {
  auto it =
      std::ranges::find_if(inputs, [&](const RequestInput& input) { return input.name == name; });
  return it == inputs.end() ? nullptr : &*it;
}

std::string Plan::workflow() const {
  std::string text;
  for (const auto& block : blocks) text += (text.empty() ? "" : " > ") + block->name();
  return text;
}

Plan make_plan(const BlockList& blocks, const Facts& facts,
               const std::vector<Condition>& conditions) {
  Plan plan;
  PlanMaker maker(plan, conditions);
  for (const auto& block : blocks) {
    if (block->trigger()(facts)) maker.add(block);
  }
  return plan;
}

}  // namespace omnirt
