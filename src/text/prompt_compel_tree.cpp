#include "text/prompt_compel_tree.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/prompt_a1111.hpp"

namespace omnirt::text {
namespace {

std::shared_ptr<const CompelNode> node(CompelNode made) {
  return std::make_shared<const CompelNode>(std::move(made));
}

std::shared_ptr<const CompelNode> words(std::string_view text) {
  return node({.text = compel_unescaped(text)});
}

std::shared_ptr<const CompelNode> weighing(double weight, CompelNodes nodes) {
  return node({.kind = CompelNode::Kind::weighted,
               .text = {},
               .weight = weight,
               .children = std::move(nodes)});
}

}  // namespace

std::string compel_unescaped(std::string_view text, size_t times) {
  std::string made;
  size_t slashes = 0;
  for (const char c : text) {
    if (c == '\\') {
      ++slashes;
      continue;
    }
    const bool escaped = c == '(' || c == ')' || c == '"';
    made.append(slashes - (escaped ? std::min(slashes, times) : 0), '\\');
    made += c;
    slashes = 0;
  }
  return made.append(slashes, '\\');
}

CompelGrammar::Maybe CompelGrammar::plain(size_t at) const {
  auto found = word(at);
  if (!found) return std::nullopt;
  return Match{{words(found->first)}, found->second};
}

CompelGrammar::Maybe CompelGrammar::quoted(size_t at) {
  auto [known, is_new] = quotes_.try_emplace(behind_space(at));
  if (!is_new) return known->second;
  auto inside = quotation(at);
  if (!inside) return std::nullopt;
  Match made{{}, inside->second};
  replace_all(inside->first, "\"", "\\\"");
  CompelGrammar grammar(inside->first, field(), depth_ + 1);
  if (grammar.ends(grammar.behind_space(0))) {
    made.nodes = {words("")};
  } else {
    Match read = grammar.fragment(0, /*punctuation=*/true);
    if (!grammar.ends(grammar.behind_space(read.end))) return std::nullopt;
    made.nodes = std::move(read.nodes);
  }
  return quotes_[behind_space(at)] = std::move(made);
}

// A quotation that may hold anything, of .blend() and .and().
CompelGrammar::Maybe CompelGrammar::quoted_prompt(size_t at) {
  auto inside = quotation(at);
  if (!inside) return std::nullopt;
  replace_all(inside->first, "\"", "\\\"");
  CompelGrammar grammar(inside->first, field(), depth_ + 1);
  return Match{grammar.prompt(0).nodes, inside->second};
}

CompelGrammar::Maybe CompelGrammar::bracketed(size_t at) {
  at = behind_space(at);
  auto open = literal(at, "(");
  if (!open) return std::nullopt;
  auto [known, is_new] = brackets_.try_emplace(at);
  if (!is_new) return known->second;
  if (depth_ == max_prompt_depth) {
    refuse(at, fmt::format("more than {} brackets are open", max_prompt_depth),
           "write a weight as (words)1.3");
  }
  ++depth_;
  Match made = fragment(*open, /*punctuation=*/true);
  --depth_;
  auto close = literal(made.end, ")");
  if (!close) return std::nullopt;
  made.end = *close;
  return brackets_[at] = std::move(made);
}

// What an operator may follow.
CompelGrammar::Maybe CompelGrammar::target(size_t at) {
  if (auto made = quoted(at)) return made;
  if (auto made = bracketed(at)) return made;
  return plain(at);
}

// (words).attend(1.3)
CompelGrammar::Maybe CompelGrammar::attend(size_t at) {
  auto made = target(at);
  auto name = made ? literal(made->end, ".attend") : std::nullopt;
  auto open = name ? literal(*name, "(") : std::nullopt;
  if (!open) return std::nullopt;
  auto weight = signs(*open);
  if (!weight) weight = number(*open);
  auto close = weight ? literal(weight->second, ")") : std::nullopt;
  if (!close) return std::nullopt;
  return Match{{weighing(weight->first, std::move(made->nodes))}, *close};
}

// (words)1.3, "words"++, word-: the weight follows directly.
CompelGrammar::Maybe CompelGrammar::weighted(size_t at) {
  auto made = quoted(at);
  if (!made) made = bracketed(at);
  bool takes_numbers = made.has_value();
  if (!made) made = plain(at);
  if (!made || ends(made->end) || has_space(made->end)) return std::nullopt;
  auto weight = signs(made->end);
  if (!weight && takes_numbers) weight = number(made->end);
  if (!weight) return std::nullopt;
  return Match{{weighing(weight->first, std::move(made->nodes))}, weight->second};
}

// (words).swap(others, options)
CompelGrammar::Maybe CompelGrammar::swap(size_t at) {
  auto made = target(at);
  auto name = made ? literal(made->end, ".swap") : std::nullopt;
  auto open = name ? literal(*name, "(") : std::nullopt;
  if (!open) return std::nullopt;
  size_t end = fragment(*open, /*punctuation=*/false).end;
  if (auto comma = literal(end, ",")) {
    end = *comma;
    options(end);
  }
  auto close = literal(end, ")");
  if (!close) return std::nullopt;
  size_t begin = behind_space(at);
  return Match{
      {node({.kind = CompelNode::Kind::swap, .text = std::string(between(begin, *close))})},
      *close};
}

CompelGrammar::Maybe CompelGrammar::adapter(size_t at) const {
  auto name = literal(at, "useLora");
  if (!name) name = literal(at, "withLora");
  auto open = name ? literal(*name, "(") : std::nullopt;
  auto model = open ? keyword(*open) : std::nullopt;
  if (!model) return std::nullopt;
  size_t end = model->second;
  if (auto comma = literal(end, ",")) {
    if (auto weight = number(*comma)) end = weight->second;
  }
  auto close = literal(end, ")");
  if (!close) return std::nullopt;
  return Match{{node({.kind = CompelNode::Kind::adapter, .text = model->first})}, *close};
}

CompelGrammar::Match CompelGrammar::adapters(size_t at) {
  Match made{{}, at};
  while (auto next = adapter(made.end)) {
    made.nodes.insert(made.nodes.end(), next->nodes.begin(), next->nodes.end());
    made.end = next->end;
  }
  return made;
}

// What brackets and quotes hold. `punctuation`: commas and periods are words.
CompelGrammar::Match CompelGrammar::fragment(size_t at, bool punctuation) {
  Match made{{}, at};
  for (;;) {
    Maybe next = adapter(made.end);
    if (!next) next = attend(made.end);
    if (!next) next = weighted(made.end);
    if (!next) next = swap(made.end);
    if (!next) next = bracketed(made.end);
    if (!next) next = quoted(made.end);
    if (!next) next = plain(made.end);
    for (std::string_view mark : {",", "."}) {
      auto end = !next && punctuation ? literal(made.end, mark) : std::nullopt;
      if (end) next = Match{{words(mark)}, *end};
    }
    if (!next) return made;
    made.nodes.insert(made.nodes.end(), next->nodes.begin(), next->nodes.end());
    made.end = next->end;
  }
}

// Reads to the end: what has no meaning of its own is words.
CompelGrammar::Match CompelGrammar::prompt(size_t at) {
  Match made{{}, at};
  while (!ends(behind_space(made.end))) {
    Maybe next = swap(made.end);
    if (!next) next = adapter(made.end);
    if (!next) next = attend(made.end);
    if (!next) next = weighted(made.end);
    if (!next) next = quoted(made.end);
    if (!next) next = bracketed(made.end);
    if (!next) {
      auto [text, end] = free_word(made.end);
      next = Match{{words(text)}, end};
    }
    made.nodes.insert(made.nodes.end(), next->nodes.begin(), next->nodes.end());
    made.end = next->end;
  }
  return made;
}

std::optional<CompelGrammar::Operation> CompelGrammar::operation(
    size_t at, const std::vector<std::string_view>& names) {
  Operation made;
  auto next = literal(at, "(");
  while (next) {
    Maybe prompt = target(*next);
    if (!prompt) prompt = quoted_prompt(*next);
    if (!prompt) return std::nullopt;
    made.prompts.push_back(std::move(prompt->nodes));
    made.end = prompt->end;
    next = literal(made.end, ",");
  }
  auto close = made.prompts.empty() ? std::nullopt : literal(made.end, ")");
  for (std::string_view name : names) {
    auto end = close ? literal(*close, name) : std::nullopt;
    if (!end) continue;
    auto open = literal(*end, "(");
    if (!open) return std::nullopt;
    made.name = name;
    made.end = *open;
    made.options = options(made.end);
    auto last = literal(made.end, ")");
    if (!last) return std::nullopt;
    made.end = *last;
    return made;
  }
  return std::nullopt;
}

}  // namespace omnirt::text
