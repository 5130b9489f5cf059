// A drawing of a pipeline: blocks from top to bottom in the order in which they run, stages as
// bands, and for each value that is passed on a line of its own next to the blocks: a dot where it
// is made, an arrow into each block that reads it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "engine/graph.hpp"

namespace omnirt {
namespace {

constexpr double line_height = 16, padding = 9, gap = 14, band = 132, lane_width = 15;
constexpr size_t wrap_at = 44;
constexpr std::array<const char*, 10> colours{"#1f6fb2", "#c8442b", "#2f8f4e", "#8a4fb0",
                                              "#b07a10", "#127f86", "#c2427f", "#5b6b12",
                                              "#4a55a2", "#7a5040"};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

// About as wide as a sans-serif face sets it.
double width_of(const std::string& text, double size) {
  return static_cast<double>(text.size()) * size * 0.56;
}

std::vector<std::string> wrapped(const std::string& text) {
  std::vector<std::string> lines{""};
  size_t from = 0;
  while (from < text.size()) {
    size_t space = text.find(' ', from);
    std::string word = text.substr(from, space - from);
    if (!lines.back().empty() && lines.back().size() + word.size() >= wrap_at) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    from = space == std::string::npos ? text.size() : space + 1;
  }
  return lines;
}

struct TextLine {
  std::string text;
  const char* style;
};

// One block as drawn: its text on the left, its values on the right edge.
struct Box {
  std::vector<TextLine> lines;
  std::vector<BlockGraph::Value> values;
  double y = 0, height = 0;
  bool used = true;

  double port_y(size_t i) const {
    return y + padding + line_height * (static_cast<double>(i) + 0.5);
  }
};

constexpr const char* name_style = "font-size=\"13\" font-weight=\"bold\"";
constexpr const char* plain_style = "font-size=\"11\" fill=\"#333\"";
constexpr const char* quiet_style = "font-size=\"11\" fill=\"#777\"";
constexpr const char* when_style = "font-size=\"11\" font-style=\"italic\" fill=\"#8a3b00\"";

void add_lines(Box& box, const std::string& text, const char* style) {
  for (std::string& line : wrapped(text)) box.lines.push_back({std::move(line), style});
}

Box box_of(const BlockGraph::Node& node) {
  Box box;
  box.used = node.used;
  box.lines.push_back({node.name, name_style});
  if (!node.trigger.empty()) add_lines(box, "when " + node.trigger, when_style);
  if (!node.used) add_lines(box, "not for this model's components", when_style);
  if (node.guidance == Guidance::per_condition)
    box.lines.push_back({"once for each condition", plain_style});
  if (!node.components.empty())
    add_lines(box, fmt::format("uses {}", fmt::join(node.components, ", ")), plain_style);
  if (!node.keys.empty())
    add_lines(box, fmt::format("config {}", fmt::join(node.keys, ", ")), quiet_style);
  box.values = node.values;
  return box;
}

// All that one value's line connects: places are {box, value's place in it}.
struct Net {
  std::string value;
  std::vector<std::pair<size_t, size_t>> makers, readers;
  double top = 0, bottom = 0;
  size_t lane = 0;
};

class Drawing {
 public:
  explicit Drawing(const BlockGraph& graph) : graph_(graph) {
    Box request;
    request.lines.push_back({"request", name_style});
    request.values = graph.request_inputs;
    boxes_.push_back(std::move(request));
    for (const BlockGraph::Node& node : graph.nodes) boxes_.push_back(box_of(node));
    place();
    connect();
    choose_lanes();
  }

  std::string svg() const {
    double width = right_ + lane_width * static_cast<double>(lanes_ + 1) + 12;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
        "viewBox=\"0 0 {0:.0f} {1:.0f}\" font-family=\"Helvetica, Arial, sans-serif\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        "<text x=\"12\" y=\"24\" font-size=\"16\" font-weight=\"bold\">{2}</text>\n",
        width, bottom_, escaped(graph_.title));
    out += bands();
    for (const Net& net : nets_) out += draw(net);
    for (const Box& box : boxes_) out += draw(box);
    return out + "</svg>\n";
  }

 private:
  // Box 0 is the request; node i is box i + 1.
  static size_t box_index(size_t node) { return node == BlockGraph::request ? 0 : node + 1; }

  void place() {
    double left = 0, ports = 0, y = 40;
    for (size_t i = 0; i < boxes_.size(); ++i) {
      Box& box = boxes_[i];
      bool new_stage = i == 1 || (i > 1 && graph_.nodes[i - 1].stage != graph_.nodes[i - 2].stage);
      if (new_stage) y += gap;
      box.y = y;
      box.height = 2 * padding +
                   line_height * static_cast<double>(std::max(box.lines.size(), box.values.size()));
      y += box.height + gap;
      for (const TextLine& line : box.lines)
        left = std::max(left, width_of(line.text, line.style == name_style ? 13.5 : 11));
      for (const BlockGraph::Value& value : box.values)
        ports = std::max(ports, width_of(value.name + value.type, 11) + 10);
    }
    right_ = band + left + ports + 4 * padding;
    bottom_ = y + 6;
  }

  // One net for edges of one value that share a place.
  void connect() {
    std::map<std::pair<std::string, size_t>, size_t> net_of;  // value and box -> net
    for (const BlockGraph::Edge& edge : graph_.edges) {
      size_t from = box_index(edge.from), to = box_index(edge.to);
      auto a = net_of.find({edge.value, from}), b = net_of.find({edge.value, to});
      size_t net = a != net_of.end() ? a->second : b != net_of.end() ? b->second : nets_.size();
      if (net == nets_.size()) nets_.push_back({edge.value, {}, {}});
      if (a != net_of.end() && b != net_of.end() && a->second != b->second)
        merge(net, b->second, net_of);
      net_of[{edge.value, from}] = net_of[{edge.value, to}] = net;
      add(nets_[net].makers, from, edge.value);
      add(nets_[net].readers, to, edge.value);
    }
    std::erase_if(nets_, [](const Net& net) { return net.makers.empty(); });
  }

  void merge(size_t into, size_t from, std::map<std::pair<std::string, size_t>, size_t>& net_of) {
    for (auto& [key, net] : net_of) {
      if (net == from) net = into;
    }
    for (auto member : {&Net::makers, &Net::readers}) {
      auto& target = nets_[into].*member;
      for (const auto& place : nets_[from].*member) target.push_back(place);
      (nets_[from].*member).clear();
    }
  }

  void add(std::vector<std::pair<size_t, size_t>>& places, size_t box, const std::string& value) {
    const auto& values = boxes_[box].values;
    auto it = std::ranges::find(values, value, &BlockGraph::Value::name);
    std::pair<size_t, size_t> place{box, static_cast<size_t>(it - values.begin())};
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }

  // Short lines nearest to the blocks; no two on one lane where they would touch.
  void choose_lanes() {
    for (Net& net : nets_) {
      net.top = 1e9;
      for (const auto* places : {&net.makers, &net.readers}) {
        for (const auto& [box, port] : *places) {
          net.top = std::min(net.top, boxes_[box].port_y(port));
          net.bottom = std::max(net.bottom, boxes_[box].port_y(port));
        }
      }
    }
    std::vector<size_t> order(nets_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, {}, [&](size_t i) { return nets_[i].bottom - nets_[i].top; });
    std::vector<const Net*> placed;
    for (size_t i : order) {
      Net& net = nets_[i];
      auto taken = [&](const Net* other) {
        return other->lane == net.lane && other->top <= net.bottom + 4 &&
               net.top <= other->bottom + 4;
      };
      while (std::ranges::any_of(placed, taken)) ++net.lane;
      placed.push_back(&net);
      lanes_ = std::max(lanes_, net.lane + 1);
    }
  }

  std::string bands() const {
    std::string out;
    for (size_t i = 1; i < boxes_.size(); ++i) {
      Stage stage = graph_.nodes[i - 1].stage;
      if (i > 1 && graph_.nodes[i - 2].stage == stage) continue;
      size_t last = i;
      while (last + 1 < boxes_.size() && graph_.nodes[last].stage == stage) ++last;
      double top = boxes_[i].y - 8, bottom = boxes_[last].y + boxes_[last].height + 8;
      out += fmt::format(
          "<rect x=\"6\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" "
          "fill=\"#f2f5f8\"/>\n<text x=\"14\" y=\"{:.1f}\" font-size=\"11\" "
          "fill=\"#556\">{}</text>\n",
          top, right_ - 2, bottom - top, top + 20, to_string(stage));
    }
    return out;
  }

  std::string draw(const Box& box) const {
    std::string out = fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"5\" "
        "fill=\"white\" stroke=\"#445\"{}/>\n",
        band, box.y, right_ - band, box.height, box.used ? "" : " stroke-dasharray=\"4 3\"");
    for (size_t i = 0; i < box.lines.size(); ++i) {
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", band + padding,
                         box.y + padding + line_height * static_cast<double>(i) + 12,
                         box.lines[i].style, escaped(box.lines[i].text));
    }
    for (size_t i = 0; i < box.values.size(); ++i) {
      const BlockGraph::Value& value = box.values[i];
      out += fmt::format(
          "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" text-anchor=\"end\"><tspan "
          "fill=\"#999\">{}{}</tspan> {}</text>\n",
          right_ - 8, box.port_y(i) + 4, escaped(value.type), value.optional ? ", optional" : "",
          escaped(value.name));
    }
    return out;
  }

  std::string draw(const Net& net) const {
    size_t index = static_cast<size_t>(&net - nets_.data());
    const char* colour = colours[index % colours.size()];
    double x = right_ + lane_width * static_cast<double>(net.lane + 1) + 6;
    std::string out = fmt::format(
        "<g stroke=\"{0}\" fill=\"{0}\" stroke-width=\"1.4\"><title>{1}</title>\n"
        "<path d=\"M{2:.1f} {3:.1f}V{4:.1f}\" fill=\"none\"/>\n",
        colour, escaped(net.value), x, net.top, net.bottom);
    for (const auto& [box, port] : net.makers) {
      double y = boxes_[box].port_y(port);
      out += fmt::format(
          "<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" fill=\"none\"/><circle cx=\"{2:.1f}\" "
          "cy=\"{1:.1f}\" r=\"3.2\"/>\n",
          right_, y, x);
    }
    for (const auto& [box, port] : net.readers) {
      double y = boxes_[box].port_y(port);
      out += fmt::format(
          "<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" fill=\"none\"/><path d=\"M{3:.1f} {1:.1f}l7 "
          "-3.6v7.2z\" "
          "stroke=\"none\"/><circle cx=\"{2:.1f}\" cy=\"{1:.1f}\" r=\"1.6\"/>\n",
          right_ + 6, y, x, right_ + 1);
    }
    return out + "</g>\n";
  }

  const BlockGraph& graph_;
  std::vector<Box> boxes_;
  std::vector<Net> nets_;
  double right_ = 0, bottom_ = 0;
  size_t lanes_ = 0;
};

}  // namespace

std::string to_svg(const BlockGraph& graph) {
  return Drawing(graph).svg();
}

}  // namespace omnirt
