#include "pipeline/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "io/image.hpp"
#include "pipeline/block_list.hpp"
#include "pipeline/embeds_file.hpp"
#include "pipeline/latents_file.hpp"
#include "pipeline/loop.hpp"
#include "pipeline/loop_part.hpp"
#include "pipeline/makers.hpp"

namespace omnirt {

bool is_request_type(std::type_index type) {
  return type == typeid(std::vector<std::string>) || type == typeid(io::Image) ||
         type == typeid(std::vector<io::Image>) || type == typeid(GivenLatents) ||
         type == typeid(GivenEmbeds);
}

namespace {

using Kind = PortInfo::Kind;

class PlanMaker {
 public:
  PlanMaker(Plan& plan, const BlockList& list, const Facts& facts,
            const std::vector<Condition>& conditions, const Catalogue* catalogue)
      : plan_(plan), list_(list), facts_(facts), conditions_(conditions), catalogue_(catalogue) {}

  void add(const std::shared_ptr<const Block>& block) {
    size_t index = plan_.blocks.size();
    if (index > 0 && block->stage() < plan_.blocks.back()->stage()) {
      problem(*block, fmt::format("stage {} comes after {}", to_string(block->stage()),
                                  to_string(plan_.blocks.back()->stage())));
    }
    plan_.blocks.push_back(block);
    check_place(*block);
    for (const PortInfo& port : block->ports()) {
      read(*block, port, index);
      note_value(port, index);
    }
    if (block->guidance() == Guidance::takes_over && block->stage() == Stage::denoise_loop)
      use_networks(index);
    if (as_loop(*block)) keep_for_loop(index);
    for (const PortInfo& port : block->ports()) {
      if (port.kind == Kind::output || port.kind == Kind::inout)
        made_.insert_or_assign(port.name, port.type);
    }
  }

  // Where a block and the list have a block of the same name, they have the same one: lists are
  // edited by name, which sees to it.
  void check_inner(const Block& block) {
    for (const auto& inner : block.inner()) {
      const Block* known = find_block(list_, inner->name());
      if (!known || known == inner.get() || is_loop_part(*inner)) continue;
      problem(block, fmt::format("it runs a block '{}' that is not the list's", inner->name()),
              "edit the list with replace, remove and insert_before or insert_after");
    }
  }

 private:
  void check_place(const Block& block) {
    if (!is_loop_part(block)) return;
    problem(block, "it runs inside a loop only, and here it stands in the pipeline's list",
            "name a block of the loop: insert_after(list, \"denoise.step\", block)");
  }

  void problem(const Block& block, std::string message, std::string way_out = "") {
    plan_.problems.push_back({"block " + block.name(), "", std::move(message), std::move(way_out)});
  }

  void nobody_makes(const Block& block, const PortInfo& port, const std::string& name) {
    problem(block, fmt::format("no block before it makes '{}' ({})", name, port.help),
            who_could_make(name, port.type, list_, facts_, catalogue_));
  }

  // Keys are distinguished by name: a plug-in may declare one that the program has too.
  void read_key(const Block& block, const KeyInfo* key) {
    for (const KeyInfo* known : plan_.keys) {
      if (std::string_view(known->name) != key->name) continue;
      if (known->type != key->type)
        problem(block, fmt::format("config key '{}' is declared with two types", key->name));
      return;
    }
    plan_.keys.push_back(key);
  }

  void use(const std::string& component, size_t index) {
    if (!plan_.last_use.contains(component)) plan_.components.push_back(component);
    plan_.last_use[component] = index;
  }

  // Step blocks before a loop run in it: what they use is in use until it ends.
  void keep_for_loop(size_t index) {
    for (size_t i = 0; i < index; ++i) {
      if (!as_step(*plan_.blocks[i])) continue;
      for (const PortInfo& port : plan_.blocks[i]->ports()) {
        if (port.kind == Kind::component) plan_.last_use[port.name] = index;
        note_value(port, index);
      }
    }
  }

  void note_value(const PortInfo& port, size_t index) {
    if (port.kind == Kind::component || port.kind == Kind::config || port.kind == Kind::described)
      return;
    plan_.last_read[port.name] = index;
    for (const Condition& condition : conditions_) {
      auto renamed = condition.renames.find(port.name);
      if (renamed != condition.renames.end()) plan_.last_read[renamed->second] = index;
    }
  }

  // A loop asks the networks that the guider's conditions name, in addition to its own.
  void use_networks(size_t index) {
    for (const Condition& condition : conditions_) {
      if (!condition.network.empty()) use(condition.network, index);
    }
  }

  void read(const Block& block, const PortInfo& port, size_t index) {
    if (port.kind == Kind::component) {
      use(port.name, index);
    } else if (port.kind == Kind::config) {
      read_key(block, port.key);
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
    // An image of the request may be replaced by one cut or fitted; all else that is replaced was
    // made by a block.
    if (port.kind == Kind::inout && port.type != typeid(io::Image)) {
      nobody_makes(block, port, port.name);
      return;
    }
    want(block, port, port.name, port.kind != Kind::optional_input);
    if (!reads_per_condition(block, port.name)) return;
    for (const Condition& condition : conditions_) {
      auto renamed = condition.renames.find(port.name);
      if (renamed != condition.renames.end()) want(block, port, renamed->second, false);
    }
  }

  void want(const Block& block, const PortInfo& port, const std::string& name, bool required) {
    if (!is_request_type(port.type)) {
      if (required) nobody_makes(block, port, name);
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
  const BlockList& list_;
  const Facts& facts_;
  const std::vector<Condition>& conditions_;
  const Catalogue* catalogue_;
  std::map<std::string, std::type_index> made_;
};

// What the blocks of a list run themselves, at any depth.
void add_inner(const BlockList& blocks, std::set<const Block*>& all) {
  for (const auto& block : blocks) {
    const BlockList inner = block->inner();
    for (const auto& each : inner) all.insert(each.get());
    add_inner(inner, all);
  }
}

// The block as it runs: with those of its blocks whose triggers hold.
std::shared_ptr<const Block> with_active_inner(const std::shared_ptr<const Block>& block,
                                               const Facts& facts) {
  BlockList all = block->inner(), active;
  for (const auto& inner : all) {
    if (inner->trigger()(facts)) active.push_back(with_active_inner(inner, facts));
  }
  return active == all ? block : block->with_inner(active);
}

}  // namespace

BlockList active_blocks(const BlockList& blocks, const Facts& facts,
                        std::vector<Finding>* problems) {
  BlockList part, active;
  std::ranges::copy_if(blocks, std::back_inserter(part),
                       [&](const auto& block) { return block->trigger()(facts); });
  std::set<const Block*> run_by_others;
  add_inner(part, run_by_others);
  for (const auto& block : part) {
    if (run_by_others.contains(block.get())) continue;
    try {
      active.push_back(with_active_inner(block, facts));
    } catch (const InvalidRequest& thrown) {
      if (problems)
        problems->insert(problems->end(), thrown.findings().begin(), thrown.findings().end());
      active.push_back(block);
    }
  }
  return active;
}

bool reads_per_condition(const Block& block, const std::string& value) {
  auto reads = [&](const PortInfo& port) { return port.reads() && port.name == value; };
  if (block.guidance() == Guidance::per_condition) return std::ranges::any_of(block.ports(), reads);
  return std::ranges::any_of(block.inner(),
                             [&](const auto& inner) { return reads_per_condition(*inner, value); });
}

const RequestInput* Plan::find_input(const std::string& name) const {
  auto it =
      std::ranges::find_if(inputs, [&](const RequestInput& input) { return input.name == name; });
  return it == inputs.end() ? nullptr : &*it;
}

bool Plan::reads_after(size_t index, const std::string& name) const {
  auto last = last_read.find(name);
  if (last == last_read.end()) return false;
  return last->second > index || (last->second == index && !blocks.at(index)->inner().empty());
}

std::string Plan::workflow() const {
  std::string text;
  for (const auto& block : blocks) text += (text.empty() ? "" : " > ") + block->name();
  return text;
}

Plan make_plan(const BlockList& blocks, const Facts& facts,
               const std::vector<Condition>& conditions, const Catalogue* catalogue) {
  Plan plan;
  PlanMaker maker(plan, blocks, facts, conditions, catalogue);
  for (const auto& block : blocks) {
    if (block->trigger()(facts)) maker.check_inner(*block);
  }
  for (const auto& block : active_blocks(blocks, facts, &plan.problems)) maker.add(block);
  return plan;
}

}  // namespace omnirt
