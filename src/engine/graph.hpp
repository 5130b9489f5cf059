#pragma once
#include <string>
#include <vector>

#include "guiders/guider.hpp"
#include "pipeline/block.hpp"

namespace omnirt {

// A pipeline as a diagram shows it: blocks in order, and which passes what to which.
struct BlockGraph {
  struct Value {
    std::string name;
    std::string type;  // as its codec calls it; "?" without one
    bool in = false, out = false;
    bool optional = false;  // may be absent
  };
  struct Node {
    std::string name;
    Stage stage = Stage::prepare_conditions;
    std::string trigger;  // "" : always
    bool used = true;     // false: no request to this model switches it on
    Guidance guidance = Guidance::shared;
    std::vector<std::string> components, keys;
    std::vector<Value> values;
  };
  // From the output `value` of one node to the input of another; from == request: the request's.
  struct Edge {
    size_t from, to;
    std::string value;
  };
  static constexpr size_t request = static_cast<size_t>(-1);

  std::string title;
  std::vector<Node> nodes;
  std::vector<Value> request_inputs;
  std::vector<Edge> edges;
};

// `facts`: the components' configs; its inputs are those of one workflow, or, with `all_workflows`,
// ignored: every set of the inputs that triggers look at is tried, and what any of them does is
// in the graph.
BlockGraph make_graph(const std::string& title, const BlockList& blocks, const Facts& facts,
                      const std::vector<Condition>& conditions, bool all_workflows);

// Texts of the graph in the languages of Graphviz and Mermaid, and a drawing of its own.
std::string to_dot(const BlockGraph& graph);
std::string to_mermaid(const BlockGraph& graph);
std::string to_svg(const BlockGraph& graph);

}  // namespace omnirt
