#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/graph.hpp"

namespace omnirt {
namespace {

std::string for_graphviz(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Mermaid reads entities inside quotes, and takes brackets for its own.
std::string for_mermaid(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '"')
      out += "#quot;";
    else if (c == '<')
      out += "#lt;";
    else if (c == '>')
      out += "#gt;";
    else
      out += c;
  }
  return out;
}

// The lines of a block's label: name, components, trigger.
std::vector<std::string> label(const BlockGraph::Node& node) {
  std::vector<std::string> lines{node.name};
  if (!node.components.empty())
    lines.push_back(fmt::format("uses {}", fmt::join(node.components, ", ")));
  if (node.guidance == Guidance::per_condition) lines.emplace_back("once for each condition");
  if (!node.trigger.empty()) lines.push_back("when " + node.trigger);
  return lines;
}

std::string id_of(size_t node) {
  return node == BlockGraph::request ? "request" : fmt::format("b{}", node);
}

// Calls `open` and `close` at the edges of each run of nodes of one stage, `each` for each node.
void by_stage(const BlockGraph& graph, auto open, auto each, auto close) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    bool first = i == 0 || graph.nodes[i - 1].stage != graph.nodes[i].stage;
    bool last = i + 1 == graph.nodes.size() || graph.nodes[i + 1].stage != graph.nodes[i].stage;
    if (first) open(i, to_string(graph.nodes[i].stage));
    each(i, graph.nodes[i]);
    if (last) close();
  }
}

}  // namespace

std::string to_dot(const BlockGraph& graph) {
  std::string out = fmt::format(
      "digraph pipeline {{\n  label=\"{}\"; labelloc=t; rankdir=TB;\n"
      "  node [shape=box, fontname=\"Helvetica\", fontsize=11];\n"
      "  edge [fontname=\"Helvetica\", fontsize=9];\n  request [shape=oval];\n",
      for_graphviz(graph.title));
  by_stage(
      graph,
      [&](size_t i, const char* stage) {
        out += fmt::format("  subgraph cluster_{} {{\n    label=\"{}\"; color=gray;\n", i, stage);
      },
      [&](size_t i, const BlockGraph::Node& node) {
        out += fmt::format("    {} [label=\"{}\"{}];\n", id_of(i),
                           for_graphviz(fmt::format("{}", fmt::join(label(node), "\n"))),
                           node.used ? "" : ", style=dashed");
      },
      [&] { out += "  }\n"; });
  for (const BlockGraph::Edge& edge : graph.edges) {
    out += fmt::format("  {} -> {} [label=\"{}\"];\n", id_of(edge.from), id_of(edge.to),
                       for_graphviz(edge.value));
  }
  return out + "}\n";
}

std::string to_mermaid(const BlockGraph& graph) {
  std::string out = fmt::format("---\ntitle: \"{}\"\n---\nflowchart TB\n  request([request])\n",
                                for_mermaid(graph.title));
  by_stage(
      graph,
      [&](size_t i, const char* stage) {
        out += fmt::format("  subgraph s{}[\"{}\"]\n", i, stage);
      },
      [&](size_t i, const BlockGraph::Node& node) {
        std::vector<std::string> lines = label(node);
        for (std::string& line : lines) line = for_mermaid(line);
        out += fmt::format("    {}[\"{}\"]\n", id_of(i), fmt::join(lines, "<br/>"));
      },
      [&] { out += "  end\n"; });
  for (const BlockGraph::Edge& edge : graph.edges) {
    out +=
        fmt::format("  {} -->|{}| {}\n", id_of(edge.from), for_mermaid(edge.value), id_of(edge.to));
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].used) out += fmt::format("  style {} stroke-dasharray: 4 4\n", id_of(i));
  }
  return out;
}

}  // namespace omnirt
