#include "engine/graph.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "pipeline/plan.hpp"

namespace omnirt {
namespace {

using Kind = PortInfo::Kind;

BlockGraph::Value value_of(const PortInfo& port) {
  return {port.name, port.codec ? port.codec->type : "?", port.kind != Kind::output,
          port.kind == Kind::output || port.kind == Kind::inout, port.kind == Kind::optional_input};
}

BlockGraph::Node node_of(const Block& block) {
  BlockGraph::Node node;
  node.name = block.name();
  node.stage = block.stage();
  node.trigger = block.trigger().text();
  node.guidance = block.guidance();
  for (const PortInfo& port : block.ports()) {
    if (port.kind == Kind::component)
      node.components.push_back(port.name);
    else if (port.kind == Kind::config)
      node.keys.push_back(port.name);
    else
      node.values.push_back(value_of(port));
  }
  return node;
}

// What triggers look at that a request has or has not, by kind and name.
std::vector<TriggerPart> switches_of(const BlockList& blocks) {
  std::vector<TriggerPart> switches;
  for (const auto& block : blocks) {
    for (const TriggerPart& part : block->trigger().parts()) {
      bool known = std::ranges::find(switches, part) != switches.end();
      if (!known && part.kind != TriggerPart::Kind::choice) switches.push_back(part);
    }
  }
  std::ranges::sort(switches, {},
                    [](const TriggerPart& part) { return std::tuple(part.kind, part.name); });
  return switches;
}

// Every set of facts that the triggers of a list distinguish.
std::vector<Facts> facts_to_try(const BlockList& blocks, const Facts& facts) {
  std::vector<TriggerPart> switches = switches_of(blocks);
  constexpr size_t most = 12;  // 4096 sets
  switches.resize(std::min(switches.size(), most));
  std::vector<Facts> all;
  for (size_t bits = 0; bits < (size_t{1} << switches.size()); ++bits) {
    Facts& one = all.emplace_back(Facts{{}, facts.components});
    for (size_t i = 0; i < switches.size(); ++i) {
      if (bits >> i & 1) switches[i].add_to(one);
    }
  }
  return all;
}

// The edges of one workflow.
class Workflow {
 public:
  Workflow(BlockGraph& graph, const BlockList& blocks, const std::vector<Condition>& conditions,
           std::set<std::tuple<size_t, size_t, std::string>>& edges)
      : graph_(graph), blocks_(blocks), conditions_(conditions), edges_(edges) {}

  void walk(const Facts& facts) {
    for (const auto& block : active_blocks(blocks_, facts)) {
      const auto i = index_of(*block);
      graph_.nodes[i].used = true;
      for (const PortInfo& port : block->ports()) read(*block, i, port);
      for (const PortInfo& port : block->ports()) {
        if (port.kind == Kind::output || port.kind == Kind::inout) made_[port.name] = i;
      }
    }
  }

 private:
  // A loop may run fewer of its blocks here: then it is another object of the same name.
  size_t index_of(const Block& block) const {
    auto named = [&](const auto& each) { return each->name() == block.name(); };
    auto at = std::ranges::find(blocks_, &block, &std::shared_ptr<const Block>::get);
    if (at == blocks_.end()) at = std::ranges::find_if(blocks_, named);
    return static_cast<size_t>(at - blocks_.begin());
  }

  void read(const Block& block, size_t index, const PortInfo& port) {
    if (port.kind == Kind::component || port.kind == Kind::config || port.kind == Kind::output)
      return;
    auto made = made_.find(port.name);
    if (made != made_.end()) {
      edges_.emplace(made->second, index, port.name);
    } else if (is_request_type(port.type)) {
      bring(index, port, port.name);
      if (block.guidance() != Guidance::per_condition) return;
      for (const Condition& condition : conditions_) {
        auto renamed = condition.renames.find(port.name);
        if (renamed != condition.renames.end()) bring(index, port, renamed->second);
      }
    }
  }

  void bring(size_t index, const PortInfo& port, const std::string& name) {
    edges_.emplace(BlockGraph::request, index, name);
    auto& inputs = graph_.request_inputs;
    if (std::ranges::find(inputs, name, &BlockGraph::Value::name) == inputs.end())
      inputs.push_back({name, port.codec ? port.codec->type : "?", false, true, false});
    auto& values = graph_.nodes[index].values;
    if (std::ranges::find(values, name, &BlockGraph::Value::name) == values.end())
      values.push_back({name, port.codec ? port.codec->type : "?", true, false, true});
  }

  BlockGraph& graph_;
  const BlockList& blocks_;
  const std::vector<Condition>& conditions_;
  std::set<std::tuple<size_t, size_t, std::string>>& edges_;
  std::map<std::string, size_t> made_;
};

}  // namespace

BlockGraph make_graph(const std::string& title, const BlockList& blocks, const Facts& facts,
                      const std::vector<Condition>& conditions, bool all_workflows) {
  BlockGraph graph;
  graph.title = title;
  BlockList shown = all_workflows ? blocks : active_blocks(blocks, facts);
  for (const auto& block : shown) {
    graph.nodes.push_back(node_of(*block));
    graph.nodes.back().used = false;
  }
  std::set<std::tuple<size_t, size_t, std::string>> edges;
  for (const Facts& one : all_workflows ? facts_to_try(blocks, facts) : std::vector{facts})
    Workflow(graph, shown, conditions, edges).walk(one);
  for (const auto& [from, to, value] : edges) graph.edges.push_back({from, to, value});
  return graph;
}

}  // namespace omnirt
