#include "text/prompt_compel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "text/prompt_compel_tree.hpp"
#include "text/prompt_text.hpp"
#include "text/unicode.hpp"

namespace omnirt::text {
namespace {

using Node = CompelNode;

// A space after each comma, and no white space but what the grammar knows.
std::string spaced(std::string_view text) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    char c = text[at++];
    made += c == '\v' || c == '\f' ? ' ' : c;
    if (c != ',' || at == text.size()) continue;
    size_t next = at;
    if (char_class(next_codepoint(text, next)) == CharClass::space) continue;
    // The character after it is skipped: of two commas in a row, one gets its space.
    made += ' ';
    made += text.substr(at, next - at);
    at = next;
  }
  return made;
}

class Flattening {
 public:
  explicit Flattening(std::string_view field) : field_(field) {}

  // Empty where the nodes hold nothing.
  WeightedSection section(const CompelNodes& nodes) {
    WeightedSection made;
    add(made, nodes, 1);
    join(made);
    return made;
  }

  [[noreturn]] void refuse(std::string value, std::string message, std::string fix) const {
    throw InvalidRequest(
        Finding{std::string(field_), std::move(value), std::move(message), std::move(fix)});
  }

 private:
  void add(WeightedSection& made, const CompelNodes& nodes, double scale) {
    for (const auto& node : nodes) add(made, *node, scale);
  }

  void add(WeightedSection& made, const Node& node, double scale) {
    switch (node.kind) {
      case Node::Kind::weighted:
        return add(made, node.children, scale * node.weight);
      case Node::Kind::swap:
        refuse(quoted(node.text), ".swap() is not supported by prompt_syntax compel",
               "write one of the two");
      case Node::Kind::adapter:
        refuse(quoted(node.text), "withLora() is not supported by prompt_syntax compel",
               "set adapters.path=FILE");
      case Node::Kind::words:
        return add_words(made, node.text, node.weight * scale);
    }
  }

  void add_words(WeightedSection& made, const std::string& words, double weight) {
    // Not a number is beyond it, too.
    if (!(std::abs(weight) <= max_prompt_weight)) {
      refuse(fmt::format("{}", weight), fmt::format("a weight beyond {}", max_prompt_weight),
             "write a smaller one");
    }
    if (!made.empty() && made.back().weight == weight) {
      alike_.push_back(words);
      return;
    }
    join(made);
    if (++pieces_ > max_prompt_pieces) {
      refuse(quoted(words), fmt::format("more than {} parts of other weights", max_prompt_pieces),
             "shorten the prompt");
    }
    made.push_back({"", weight});
    alike_ = {words};
  }

  // The words of the last part. The reference joins them one by one, and takes escapes out of all
  // that it has so far each time.
  void join(WeightedSection& made) {
    if (made.empty()) return;
    std::string text;
    for (size_t i = 0; i < alike_.size(); ++i) {
      const size_t joined = alike_.size() - std::max<size_t>(i, 1);
      text += (i > 0 ? " " : "") + compel_unescaped(alike_[i], 1 + joined);
    }
    made.back().text = std::move(text);
  }

  static std::string quoted(const std::string& text) {
    constexpr size_t shown = 80;
    return text.size() <= shown ? text : fmt::format("{} bytes", text.size());
  }

  std::string_view field_;
  size_t pieces_ = 0;
  std::vector<std::string> alike_;  // the words of the last part, which have its weight
};

std::vector<double> weights_of(const CompelGrammar::Operation& operation,
                               const Flattening& flattening, size_t prompts) {
  std::vector<double> weights;
  for (const std::string& option : operation.options) {
    double value = 0;
    auto [end, error] = std::from_chars(option.data(), option.data() + option.size(), value);
    if (error != std::errc() || end != option.data() + option.size() || !std::isfinite(value)) {
      flattening.refuse(option, fmt::format("{}() takes weights", operation.name),
                        "write one number per prompt");
    }
    if (std::abs(value) > max_prompt_weight) {
      flattening.refuse(option, fmt::format("a weight beyond {}", max_prompt_weight),
                        "write a smaller one");
    }
    weights.push_back(value);
  }
  if (weights.empty()) weights.assign(prompts, 1);
  if (weights.size() != prompts) {
    flattening.refuse(fmt::format("{} weights", weights.size()),
                      fmt::format("{}() has {} prompts", operation.name, prompts),
                      "write one number per prompt, or none");
  }
  return weights;
}

std::vector<WeightedSection> prompts_of(const CompelGrammar::Operation& operation,
                                        Flattening& flattening) {
  if (operation.prompts.size() > max_prompt_parts) {
    flattening.refuse(fmt::format("{} prompts", operation.prompts.size()),
                      fmt::format("{}() takes at most {}", operation.name, max_prompt_parts),
                      "join some");
  }
  std::vector<WeightedSection> made;
  for (const CompelNodes& nodes : operation.prompts) {
    made.push_back(flattening.section(nodes));
    if (made.back().empty())
      flattening.refuse("()", fmt::format("an empty prompt in {}()", operation.name),
                        "write \"\" for no words");
  }
  return made;
}

void check_end(const CompelGrammar& grammar, const CompelGrammar::Operation& operation) {
  size_t end = grammar.behind_space(operation.end);
  if (grammar.ends(end)) return;
  grammar.refuse(end, fmt::format("nothing may stand behind {}()", operation.name),
                 "write it into one of its prompts");
}

CompelPrompt conjunction(const CompelGrammar::Operation& operation, Flattening& flattening) {
  CompelPrompt made;
  for (WeightedSection& section : prompts_of(operation, flattening))
    made.parts.push_back({{std::move(section)}, {1}});
  made.weights = weights_of(operation, flattening, made.parts.size());
  return made;
}

CompelBlend blend(CompelGrammar::Operation operation, Flattening& flattening) {
  CompelBlend made;
  if (!operation.options.empty() && operation.options.back() == "no_normalize") {
    made.normalize = false;
    operation.options.pop_back();
  }
  made.prompts = prompts_of(operation, flattening);
  made.weights = weights_of(operation, flattening, made.prompts.size());
  double sum = 0;
  for (double weight : made.weights) sum += weight;
  if (made.normalize && static_cast<float>(sum) == 0) {
    flattening.refuse(fmt::format("{}", sum), "the weights of .blend() add up to nothing",
                      "write others, or no_normalize as the last one");
  }
  return made;
}

}  // namespace

CompelPrompt parse_compel(std::string_view text, std::string_view field) {
  check_prompt(text, field);
  std::string prepared = spaced(text);
  CompelGrammar grammar(prepared, field);
  Flattening flattening(field);
  if (auto found = grammar.operation(0, {".and", ".add"})) {
    check_end(grammar, *found);
    return conjunction(*found, flattening);
  }
  CompelGrammar::Match adapters = grammar.adapters(0);
  flattening.section(adapters.nodes);  // refuses them
  if (auto found = grammar.operation(0, {".blend"})) {
    check_end(grammar, *found);
    return {{blend(std::move(*found), flattening)}, {1}};
  }
  WeightedSection section = flattening.section(grammar.prompt(0).nodes);
  if (section.empty()) section.emplace_back();
  return {{{{std::move(section)}, {1}}}, {1}};
}

std::string_view compel_operator_in(std::string_view text) {
  size_t first = text.npos, length = 0;
  for (std::string_view name : {").blend(", ").and(", ").attend(", ".swap(", "\"++", ")++"}) {
    size_t at = text.find(name);
    if (at >= first) continue;
    first = at;
    length = name.size();
  }
  return first == text.npos ? std::string_view() : text.substr(first, length);
}

}  // namespace omnirt::text
